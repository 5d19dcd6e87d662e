// Package histories checks what goroutines did on a shared word against a
// sequential model: a history is linearizable when some order of its calls, none
// put before a call that had returned when it began, is one the model allows.
package histories

import (
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Check runs body in every client at the same time and fails the test unless
// what they did is linearizable. A client makes its calls through call, which
// runs f and records in and what f returned.
func Check[In, Out any](t testing.TB, model porcupine.Model, clients int, body func(client int, call func(in In, f func() Out))) {
	t.Helper()
	history := record(clients, body)
	if got := porcupine.CheckOperationsTimeout(model, history, time.Minute); got != porcupine.Ok {
		t.Fatalf("a history of %d calls is not that of any order of them: %v", len(history), got)
	}
}

// record runs clients at the same time and returns what they did and when.
func record[In, Out any](clients int, body func(client int, call func(In, func() Out))) []porcupine.Operation {
	var (
		mu      sync.Mutex
		history []porcupine.Operation
		wg      sync.WaitGroup
		start   = time.Now()
		gun     = make(chan struct{})
	)
	for client := range clients {
		wg.Go(func() {
			<-gun
			var mine []porcupine.Operation
			body(client, func(in In, f func() Out) {
				op := porcupine.Operation{ClientId: client, Input: in, Call: int64(time.Since(start))}
				op.Output = f()
				op.Return = int64(time.Since(start))
				mine = append(mine, op)
			})
			mu.Lock()
			defer mu.Unlock()
			history = append(history, mine...)
		})
	}
	close(gun)
	wg.Wait()
	return history
}
