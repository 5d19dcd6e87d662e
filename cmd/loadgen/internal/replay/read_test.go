package replay_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/replay"
)

func read(t *testing.T, log string, columns string) ([]replay.Event, replay.Problems) {
	t.Helper()
	c, err := replay.ParseColumns(columns)
	require.NoError(t, err)
	events, p, err := replay.Read(strings.NewReader(log), replay.Auto, c)
	require.NoError(t, err)
	return events, p
}

func TestLinesThatCannotBeReadAreCountedAndNamed(t *testing.T) {
	events, p := read(t, `10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 12 "-" "agent"
10.0.0.1 - bob [17/May/2015:10:05:02 +0000] "post /b HTTP/1.1" 201 12 "-" "a \"quoted\" agent" 7ms

rubbish
10.0.0.1 - - [never] "GET / HTTP/1.1" 200 1
10.0.0.1 - - [17/May/2015:10:05:03 +0000] "BREW /pot HTTP/1.1" 418 1
10.0.0.1 - - [17/May/2015:10:05:03 +0000] "-" 400 0
{"time":"2015-05-17T10:05:04Z","method":"GET","path":"/j","client_ip":"10.0.0.9","duration_ms":250}
{"time":12
{"method":"GET"}
`+strings.Repeat("x", 2<<20)+`
10.0.0.1 - - [17/May/2015:10:05:05 +0000] "GET /last HTTP/1.1" 200 12`, "")
	require.Equal(t, 11, p.Lines, "the empty line is none")
	require.Len(t, events, 5)
	require.Equal(t, 6, p.MalformedTotal(), "%v", p.Malformed)
	require.Equal(t, 1, p.Malformed["no readable [time]"])
	require.Equal(t, 5, p.First["no readable [time]"])
	require.Equal(t, 1, p.Malformed["longer than 1 MiB"])
	require.Equal(t, map[string]int{"BREW": 1}, p.Methods)
	require.Equal(t, 1, p.OutOfOrder)
	require.Equal(t, time.Second, p.Backwards)

	require.Equal(t, replay.Event{
		At: time.Date(2015, 5, 17, 10, 5, 2, 0, time.UTC), Method: "POST", Path: "/b", User: "bob", Status: 201, Cost: 1, Duration: 7 * time.Millisecond,
	}, utc(events[0]), "put in order, with its user and its duration")
	require.Equal(t, "10.0.0.9", events[3].User)
	require.Equal(t, 250*time.Millisecond, events[3].Duration)
	require.Equal(t, "/last", events[4].Path, "a last line needs no end")
}

func utc(e replay.Event) replay.Event {
	e.At = e.At.UTC()
	return e
}

func TestCSVIsReadByItsHead(t *testing.T) {
	events, p := read(t, "\ufeffoffset_s,tenant,tokens\n0.5,\"a,b\",468\n2,c,\n1e3,c,many\n", "cost=tokens")
	require.Len(t, events, 2)
	require.Equal(t, map[string]int{"no readable cost": 1}, p.Malformed)
	require.Equal(t, "a,b", events[0].User)
	require.EqualValues(t, 468, events[0].Cost)
	require.EqualValues(t, 1, events[1].Cost)
	require.Equal(t, 1500*time.Millisecond, events[1].At.Sub(events[0].At))

	_, _, err := replay.Read(strings.NewReader("time,user\n1,a\n"), replay.Auto, replay.Columns{User: "tenant"})
	require.ErrorContains(t, err, `"time,user"`[1:5])
	_, _, err = replay.Read(strings.NewReader("a,b\n1,2\n"), replay.CSV, replay.Columns{})
	require.ErrorContains(t, err, "no column with a time")
	_, _, err = replay.Read(strings.NewReader("time,b\n1,2\n"), replay.CSV, replay.Columns{User: "who"})
	require.ErrorContains(t, err, `no column "who"`)
}

func TestTimesAreReadInTheirUnits(t *testing.T) {
	want := time.Date(2023, 11, 16, 18, 17, 3, 0, time.UTC)
	for _, s := range []string{"1700158623", "1700158623.0", "1700158623000", "1700158623000000", "1700158623000000000", `"2023-11-16T18:17:03Z"`, `"2023-11-16 18:17:03"`, `"2023-11-16T19:17:03+01:00"`, `"16/Nov/2023:18:17:03 +0000"`} {
		events, _ := read(t, `{"ts":`+s+`}`, "")
		require.Equal(t, want, events[0].At.UTC(), s)
	}
	for _, s := range []string{`"soon"`, "-1", "null", `""`, "1e300", "{}"} {
		_, p, err := replay.Read(strings.NewReader(`{"ts":`+s+`}`), replay.Auto, replay.Columns{})
		require.Error(t, err, s)
		require.Equal(t, map[string]int{"no readable time": 1}, p.Malformed, s)
	}
}

func TestReadGivesUpOnlyOnTheReadersError(t *testing.T) {
	broken := errors.New("disk on fire")
	_, _, err := replay.Read(io.MultiReader(strings.NewReader("x\n"), iotest.ErrReader(broken)), replay.Auto, replay.Columns{})
	require.ErrorIs(t, err, broken)
	_, _, err = replay.Read(strings.NewReader(""), replay.Auto, replay.Columns{})
	require.ErrorContains(t, err, "none of 0 lines")
}

func TestParseColumnsNamesWhatIsWrong(t *testing.T) {
	for _, s := range []string{"time", "time=", "when=ts", "time=ts,"} {
		_, err := replay.ParseColumns(s)
		require.ErrorContains(t, err, "NAME=COLUMN", s)
	}
	c, err := replay.ParseColumns("time=ts, user=tenant")
	require.NoError(t, err)
	require.Equal(t, replay.Columns{Time: "ts", User: "tenant"}, c)
}

// data opens a recorded log, which is not part of the project.
func data(t testing.TB, name string) *os.File {
	t.Helper()
	dir := os.Getenv("WEIR_DATA")
	if dir == "" {
		t.Skip("WEIR_DATA is not set")
	}
	f, err := os.Open(filepath.Join(dir, name))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestRealLogsAreReadWhole(t *testing.T) {
	for _, c := range []struct {
		name   string
		events int
		users  int
	}{{"access-combined-10k.log", 9999, 1753}, {"traefik-mixed-clf-json.log", 392, 1}, {"llm-tenants-1h.csv", 24_001, 54}, {"llm-inference-code-2023.csv", 8819, 1}} {
		events, p, err := replay.Read(data(t, c.name), replay.Auto, replay.Columns{})
		require.NoError(t, err, c.name)
		require.Len(t, events, c.events, c.name)
		require.Zero(t, p.MalformedTotal(), "%s: %v", c.name, p.Malformed)
		users := map[string]bool{}
		for i, e := range events {
			users[e.User] = true
			require.False(t, i > 0 && e.At.Before(events[i-1].At), c.name)
		}
		require.Len(t, users, c.users, c.name)
	}
}
