package weirhttp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/weirhttp"
)

// Both ways in which a ResponseWriter reaches a handler, over both protocols.
func eachWay(t *testing.T, test func(t *testing.T, change func(*httptest.Server), opts ...weirhttp.Option)) {
	protocols := map[string]func(*httptest.Server){
		"HTTP/1.1": func(*httptest.Server) {},
		"HTTP/2":   func(s *httptest.Server) { s.EnableHTTP2 = true },
	}
	for protocol, change := range protocols {
		t.Run(protocol+" bare", func(t *testing.T) { test(t, change) })
		t.Run(protocol+" with the status observed", func(t *testing.T) { test(t, change, weirhttp.ObserveStatus()) })
	}
}

func TestEventsArriveOneByOne(t *testing.T) {
	eachWay(t, func(t *testing.T, change func(*httptest.Server), opts ...weirhttp.Option) {
		e := fronttest.Engine(t, fronttest.InFlight("streams", 1))
		next := make(chan struct{})
		h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "streams"), opts...)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			rc := http.NewResponseController(w)
			if err := rc.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				panic(err)
			}
			for i := range 3 {
				if _, ok := w.(http.Flusher); !ok { // as libraries ask
					panic("no Flusher")
				}
				_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
				if err := rc.Flush(); err != nil {
					panic(err)
				}
				<-next
			}
		})))
		s := serve(t, h, change)
		resp, err := s.Client().Get(s.URL)
		require.NoError(t, err)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for i := range 3 {
			require.True(t, lines.Scan())
			require.Equal(t, fmt.Sprintf("data: %d", i), lines.Text())
			require.True(t, lines.Scan())
			require.EqualValues(t, 1, fronttest.Inside(t, e, "streams"), "the stream holds its slot")
			next <- struct{}{}
		}
		<-ended
		require.Zero(t, fronttest.Inside(t, e, "streams"))
	})
}

func TestTrailersPass(t *testing.T) {
	eachWay(t, func(t *testing.T, change func(*httptest.Server), opts ...weirhttp.Option) {
		e := fronttest.Engine(t, fronttest.InFlight("calls", 1))
		s := serve(t, weirhttp.Handler(e, fronttest.By(t, e, "calls"), opts...)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			_, _ = io.WriteString(w, "body")
			w.Header().Set("X-Sum", "42")
		})), change)
		resp, body := get(t, s, "/")
		require.Equal(t, "body", body)
		require.Equal(t, "42", resp.Trailer.Get("X-Sum"))
	})
}

func TestHijackWorksWithTheStatusObserved(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("requests", 1))
	s := serve(t, weirhttp.Handler(e, fronttest.By(t, e, "requests"), weirhttp.ObserveStatus())(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nX-By-Hand: yes\r\n\r\n")
		_ = c.Close()
	})))
	resp, _ := get(t, s, "/")
	require.Equal(t, "yes", resp.Header.Get("X-By-Hand"))
}

func TestAPanicAfterTheFirstByteWritesNoSecondHeader(t *testing.T) {
	eachWay(t, func(t *testing.T, change func(*httptest.Server), opts ...weirhttp.Option) {
		var (
			mu     sync.Mutex
			logged bytes.Buffer
		)
		e := fronttest.Engine(t, fronttest.InFlight("calls", 1))
		h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "calls"), opts...)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half of ")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})))
		s := serve(t, h, change, func(s *httptest.Server) {
			s.Config.ErrorLog = log.New(writer(func(b []byte) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				return logged.Write(b)
			}), "", 0)
		})
		resp, err := s.Client().Get(s.URL)
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.Error(t, err, "the client sees that the answer broke off")
		require.NoError(t, resp.Body.Close())
		<-ended
		require.Zero(t, fronttest.Inside(t, e, "calls"))
		mu.Lock()
		defer mu.Unlock()
		require.NotContains(t, logged.String(), "superfluous")
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
