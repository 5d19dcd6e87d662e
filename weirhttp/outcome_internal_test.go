package weirhttp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front"
)

func TestObservedStatus(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		failed bool
	}{
		"nothing written":    {func(http.ResponseWriter) {}, false},
		"a body only":        {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "x") }, false},
		"499":                {func(w http.ResponseWriter) { w.WriteHeader(499) }, false},
		"500":                {func(w http.ResponseWriter) { w.WriteHeader(500) }, true},
		"early hints, 503":   {func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(503) }, true},
		"503, superfluous":   {func(w http.ResponseWriter) { w.WriteHeader(503); w.WriteHeader(200) }, true},
		"200, 500 too late":  {func(w http.ResponseWriter) { w.WriteHeader(200); w.WriteHeader(500) }, false},
		"early hints, a 200": {func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(200) }, false},
	} {
		w, failed := observe(httptest.NewRecorder())
		c.answer(w)
		require.Equal(t, c.failed, failed(), name)
	}
}

func TestOutcomeOfAnAnswer(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	broken := io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
	whole := io.NopCloser(iotest.DataErrReader(io.LimitReader(broken, 0)))
	for name, c := range map[string]struct {
		status int
		body   io.ReadCloser
		ctx    context.Context
		want   engine.Outcome
	}{
		"whole":                    {200, whole, context.Background(), engine.Success},
		"an error of ours":         {404, whole, context.Background(), engine.Success},
		"an error of theirs":       {500, whole, context.Background(), engine.Success},
		"too many":                 {429, whole, context.Background(), engine.Dropped},
		"unavailable":              {503, whole, context.Background(), engine.Dropped},
		"gateway timed out":        {504, whole, context.Background(), engine.Dropped},
		"broken off":               {200, broken, context.Background(), engine.Dropped},
		"given up by us":           {200, broken, gone, engine.Ignored},
		"given up by us, and busy": {503, whole, gone, engine.Ignored},
	} {
		x := &front.Exchange{Context: c.ctx}
		b := newBody(&http.Response{StatusCode: c.status, Body: c.body}, x).(*body)
		_, _ = io.ReadAll(b)
		require.Equal(t, c.want, b.outcome(), name)
		require.NoError(t, b.Close())
	}
}
