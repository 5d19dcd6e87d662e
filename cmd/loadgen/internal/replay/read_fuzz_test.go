package replay

import (
	"bytes"
	"testing"
)

// Any bytes are a log: what is read is in order, complete and countable, in
// every format.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a?b=c HTTP/1.0\" 200 2326\n",
		"{\"time\":\"2025-01-01T00:00:00Z\",\"method\":\"POST\",\"path\":\"/x\",\"duration_ms\":12.5}\n",
		"timestamp,method,path,status\n2025-01-01T00:00:00Z,GET,/,200\n\"unfinished",
		"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n",
		"{\"time\":1e400}\n\x00\n[]\n{",
	} {
		f.Add([]byte("\x00" + seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		format := Format(b[0] % 4)
		events, p, err := Read(bytes.NewReader(b[1:]), format, Columns{})
		if err != nil {
			return
		}
		for i, e := range events {
			if e.At.IsZero() {
				t.Fatalf("event %d has no time", i)
			}
			if i > 0 && e.At.Before(events[i-1].At) {
				t.Fatalf("event %d is out of order", i)
			}
			if e.Cost < 0 || e.Duration < 0 {
				t.Fatalf("event %d: cost %d, duration %v", i, e.Cost, e.Duration)
			}
		}
		if len(events)+p.MalformedTotal() != p.Lines {
			t.Fatalf("%d events and %d malformed lines of %d", len(events), p.MalformedTotal(), p.Lines)
		}
	})
}
