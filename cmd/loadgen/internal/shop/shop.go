package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
)

// What the endpoints cost on a quiet day: their mean service times. A listing
// costs a millisecond per row on top.
const (
	ChargeTime = 120 * time.Millisecond
	RefundTime = 120 * time.Millisecond
	ListTime   = 90 * time.Millisecond
	RowTime    = time.Millisecond

	// maxRows bounds one listing.
	maxRows = 5000
	// databaseShare is the part of a charge or a refund that waits for the
	// database; a listing does nothing else.
	databaseShare = 0.1
)

// Shop is the service.
type Shop struct {
	Pool *Pool
	seed uint64
	slow atomic.Uint64 // bits of the factor by which the database is slower

	mu      sync.Mutex
	charges []charge // the last ones, oldest first
	next    int
}

// charge is one payment.
type charge struct {
	ID       string `json:"id"`
	Account  string `json:"account"`
	Amount   int64  `json:"amount"`
	Refunded bool   `json:"refunded"`
}

// kept is how many charges the ledger remembers.
const kept = 1000

// New returns a shop with so many workers and places in their queue. The seed
// decides which request is how much work.
func New(workers, queue int, seed uint64) *Shop {
	s := &Shop{Pool: NewPool(workers, queue), seed: seed}
	s.Slow(1)
	return s
}

// Slow makes the database so many times slower than on a quiet day.
func (s *Shop) Slow(factor float64) { s.slow.Store(math.Float64bits(factor)) }

// Mux routes to the endpoints.
func (s *Shop) Mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/charges", s.endpoint(ChargeTime, databaseShare, s.createCharge))
	mux.HandleFunc("POST /v1/refunds", s.endpoint(RefundTime, databaseShare, s.createRefund))
	mux.HandleFunc("GET /v1/charges", s.endpoint(ListTime, 1, s.listCharges))
	return mux
}

// Account is the account that a request's key belongs to, and whether the key
// is a test-mode one; "" is nobody.
func Account(r *http.Request) (account string, test bool) {
	k, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer sk_")
	if !ok {
		return "", false
	}
	mode, account, _ := strings.Cut(k, "_")
	switch mode {
	case "live":
		return account, false
	case "test":
		return account, true
	}
	return "", false
}

type action func(account string, r *http.Request) (any, error)

// endpoint holds a worker for the time that the request takes. A client that
// leaves while it waits is not worked for; a worker that has begun finishes,
// whoever is still there.
func (s *Shop) endpoint(mean time.Duration, database float64, do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		account, _ := Account(r)
		if account == "" {
			http.Error(w, "no valid API key", http.StatusUnauthorized)
			return
		}
		switch err := s.Pool.Acquire(r.Context()); {
		case errors.Is(err, ErrQueueFull):
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
			return
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			return // nobody is there to be told
		}
		defer s.Pool.Release()
		time.Sleep(s.work(r, mean, database))
		answer, err := do(account, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // a client that left is told nothing
	}
}

// work is how long the request takes: a floor and an exponential tail around
// the mean, drawn from the request's own id, so that the same traffic is the
// same work on every run.
func (s *Shop) work(r *http.Request, mean time.Duration, database float64) time.Duration {
	rng := rand.New(rand.NewPCG(s.seed, xxhash.Sum64String(r.Header.Get("Request-Id"))))
	mean += time.Duration(rows(r)) * RowTime
	slow := 1 + database*(math.Float64frombits(s.slow.Load())-1)
	return time.Duration(float64(mean) * slow * (0.6 + 0.4*rng.ExpFloat64()))
}

func rows(r *http.Request) int {
	if r.Method != http.MethodGet {
		return 0
	}
	n, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || n < 0 {
		return 10
	}
	return min(n, maxRows)
}

func (s *Shop) createCharge(account string, r *http.Request) (any, error) {
	amount, err := strconv.ParseInt(r.FormValue("amount"), 10, 64)
	if err != nil || amount <= 0 {
		return nil, errors.New("amount: must be a whole number above 0")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	c := charge{ID: fmt.Sprintf("ch_%d", s.next), Account: account, Amount: amount}
	if len(s.charges) == kept {
		s.charges = append(s.charges[:0], s.charges[1:]...)
	}
	s.charges = append(s.charges, c)
	return c, nil
}

func (s *Shop) createRefund(account string, r *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.charges) - 1; i >= 0; i-- {
		if c := &s.charges[i]; c.Account == account && !c.Refunded {
			c.Refunded = true
			return *c, nil
		}
	}
	// Nothing left to refund is an answer, too, and not the load's fault.
	return charge{Account: account}, nil
}

func (s *Shop) listCharges(account string, r *http.Request) (any, error) {
	n := rows(r)
	out := []charge{}
	s.mu.Lock()
	defer s.mu.Unlock()
	// At most a page is written out, however many rows were read.
	for i := len(s.charges) - 1; i >= 0 && len(out) < min(n, 10); i-- {
		if s.charges[i].Account == account {
			out = append(out, s.charges[i])
		}
	}
	return out, nil
}
