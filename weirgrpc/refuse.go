package weirgrpc

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front"
)

// pushbackKey is the trailer by which a server controls its clients' retry
// policies (gRFC A6): a number of milliseconds, or -1 for no retry.
const pushbackKey = "grpc-retry-pushback-ms"

// maxRefusals bounds the refusals that are kept. About 1100 different waits
// exist for one limit and reason; few of them are in use at a time.
const maxRefusals = 4096

// refusal is a built status. It is shared by calls and never changed.
type refusal struct {
	err     error
	trailer metadata.MD
}

type refusalKey struct {
	front.RefusalID
	wait time.Duration
}

// refusal returns the status for a decision. Building one takes longer than
// many handlers do, so they are kept by what they say, the wait rounded up.
func (d *door) refusal(v engine.Decision) *refusal {
	k := refusalKey{front.ID(v), roundUp(v.RetryAfter)}
	if r, ok := d.refusals.Load(k); ok {
		return r
	}
	r := newRefusal(k, d.engine.LimitName(v.Limit), d.shedCode)
	if d.refusals.Size() < maxRefusals {
		d.refusals.Store(k, r)
	}
	return r
}

func newRefusal(k refusalKey, limit string, shed codes.Code) *refusal {
	code, pushback := shed, int64(-1)
	if front.CallersDoing(k.Reason) {
		code = codes.ResourceExhausted
	} else if k.wait >= 0 {
		pushback = k.wait.Milliseconds()
	}
	text := front.Detail(k.Reason)
	where := k.Layer.String()
	info := &errdetails.ErrorInfo{
		Reason:   k.Reason.String(),
		Domain:   "weir",
		Metadata: map[string]string{"layer": where},
	}
	if limit != "" {
		info.Metadata["limit"] = limit
		where += " limit " + strconv.Quote(limit)
	}
	details := []protoadapt.MessageV1{info}
	if k.wait >= 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(k.wait)})
	}
	if front.CallersDoing(k.Reason) {
		details = append(details, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{
			{Subject: "limit:" + limit, Description: text, QuotaId: limit},
		}})
	}
	st := status.New(code, fmt.Sprintf("%s: %s", where, text))
	if with, err := st.WithDetails(details...); err == nil { // fails for codes.OK only
		st = with
	}
	return &refusal{
		err:     st.Err(),
		trailer: metadata.Pairs(pushbackKey, strconv.FormatInt(pushback, 10)),
	}
}

// roundUp makes few waits out of many: it lengthens one by up to 1/100 of a
// second below one second, by up to a second below a minute, and by less than a
// sixth above. It never shortens one; negative is never.
func roundUp(d time.Duration) time.Duration {
	unit := time.Hour
	switch {
	case d < 0:
		return -1
	case d <= time.Second:
		unit = 10 * time.Millisecond
	case d <= time.Minute:
		unit = time.Second
	case d <= 10*time.Minute:
		unit = 10 * time.Second
	case d <= time.Hour:
		unit = time.Minute
	case d <= 24*time.Hour:
		unit = 10 * time.Minute
	}
	n := d / unit
	if d%unit > 0 || n == 0 {
		n++
	}
	return n * unit
}
