package fleetredis

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/weir-go/weir/fleet"
)

//go:embed push.lua
var pushSource string

//go:embed beat.lua
var beatSource string

// epoch is where the scripts begin to count, in us of Unix time: so that a double
// resolves a small part of a microsecond.
const epoch = 1_700_000_000_000_000

// Wire is the version of the stored layouts.
const Wire = "1"

type script struct{ source, sha string }

func newScript(source string) script {
	sum := sha1.Sum([]byte(source))
	return script{source, hex.EncodeToString(sum[:])}
}

// Transport is a fleet.Transport over a Redis client. It is safe for concurrent
// use.
type Transport struct {
	client     redis.UniversalClient
	own        bool
	prefix     string // of the keys of this wire version and number of shards
	base       string // of the keys common to all numbers of shards
	plain      string
	shards     int
	tags       []string
	push, beat script
	noted      atomic.Int64 // when the layout was noted as in use, by the server's clock in s
}

// Options are the layout, which every instance of a deployment must share.
type Options struct {
	Prefix string // of every key; "" is "weir"; no braces
	// Shards is over how many slots the keys are spread: 0 is 16; 4 is enough
	// for a single server, 64 to 256 for more than 16 primaries.
	Shards int
}

// New returns a Transport with a client of its own. Addresses, credentials, TLS
// and the choice between single server, Sentinel and Cluster are redis'; how
// often and how long it tries is the fleet's matter and is set here. It does not
// connect: an address that does not answer is reported by the fleet that uses
// the Transport.
func New(redisOptions redis.UniversalOptions, o Options) (*Transport, error) {
	u := redisOptions
	// Whoever sends a write again by itself counts it twice; and a fleet sends
	// again on its own clock.
	u.MaxRetries = -1
	u.DialerRetries = 1
	u.MaxRedirects = 3
	u.ContextTimeoutEnabled = true
	u.DialTimeout = orDefault(u.DialTimeout, 200*time.Millisecond)
	// A pool that has failed to dial as often as it is large stops dialling but
	// for once a second, in step with every other instance that lost the server
	// at that moment. The fleet has a back-off of its own, with jitter; so the
	// pool is large, and what bounds the connections is the other number: a push,
	// a beat, and two for shards in trouble.
	u.MaxActiveConns = orDefault(u.MaxActiveConns, orDefault(u.PoolSize, 4))
	u.PoolSize = 1 << 12
	u.PipelinePoolSize = -1 // one pool for all
	u.DisableIdentity = true
	if u.MaintNotificationsConfig == nil {
		u.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	}
	t, err := Over(nil, o)
	if err != nil {
		return nil, err
	}
	t.client, t.own = redis.NewUniversalClient(&u), true
	return t, nil
}

// Over returns a Transport over a client that the caller has made and will
// close. Retries of the client do no harm, but delay.
func Over(client redis.UniversalClient, o Options) (*Transport, error) {
	o.Prefix = orDefault(o.Prefix, "weir")
	o.Shards = orDefault(o.Shards, 16)
	switch {
	case strings.ContainsAny(o.Prefix, "{}"):
		return nil, fmt.Errorf("fleetredis: prefix %q: must have no braces", o.Prefix)
	case o.Shards < 1 || o.Shards > 1024:
		return nil, fmt.Errorf("fleetredis: shards %d: must be from 1 to 1024", o.Shards)
	}
	return &Transport{
		client: client,
		prefix: o.Prefix + Wire + "v" + strconv.Itoa(o.Shards) + ":{",
		base:   o.Prefix + Wire + ":{f",
		plain:  o.Prefix,
		shards: o.Shards,
		tags:   tagsFor(o.Shards),
		push:   newScript(pushSource),
		beat:   newScript(beatSource),
	}, nil
}

func orDefault[T comparable](v, d T) T {
	if v == *new(T) {
		return d
	}
	return v
}

// Shards returns over how many shards the keys are spread.
func (t *Transport) Shards() int { return t.shards }

// Close closes the client that New made.
func (t *Transport) Close() error {
	if !t.own {
		return nil
	}
	return t.client.Close()
}

// keyName returns the Redis key of an item's state.
func (t *Transport) keyName(shard int, it *fleet.Item) string {
	return string(t.appendKey(nil, shard, it))
}

func (t *Transport) appendKey(b []byte, shard int, it *fleet.Item) []byte {
	b = append(b, t.prefix...)
	b = append(b, t.tags[shard]...)
	b = append(b, '}', ':', it.Op.Store(), ':')
	b = append(b, it.Limit...)
	b = append(b, ':')
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], it.Key.H)
	binary.BigEndian.PutUint64(id[8:], it.Key.P)
	b = hex.AppendEncode(b, id[:])
	if it.Op == fleet.OpQuota {
		b = append(b, ':')
		b = strconv.AppendInt(b, it.Window, 10)
	}
	return b
}

// seqName returns the Redis key of an instance's sequence number in a shard.
func (t *Transport) seqName(shard int, boot fleet.Boot) string {
	return t.prefix + t.tags[shard] + "}:s:" + hex.EncodeToString(boot[:])
}

// groupName returns the Redis key of a group's reservation.
func (t *Transport) groupName(group string) string { return t.base + group + "}:fleet" }

// call is the arguments of one execution of a script, from the first key on.
type call struct {
	script *script
	args   []any
	text   string
	err    error
}

// run executes the calls in one pipeline. A server that answers NOSCRIPT has
// certainly not executed the call, so that one, and only that one, may be sent
// again, with the script's source.
func (t *Transport) run(ctx context.Context, calls []call) {
	again := t.exec(ctx, calls, "evalsha")
	if len(again) == 0 {
		return
	}
	lost := make([]call, len(again))
	for i, j := range again {
		lost[i] = calls[j]
	}
	t.exec(ctx, lost, "eval")
	for i, j := range again {
		calls[j] = lost[i]
	}
}

func (t *Transport) exec(ctx context.Context, calls []call, verb string) (lost []int) {
	pipe := t.client.Pipeline()
	cmds := make([]*redis.Cmd, len(calls))
	for i := range calls {
		c := &calls[i]
		body := c.script.sha
		if verb == "eval" {
			body = c.script.source
		}
		c.args[0], c.args[1] = verb, body
		cmds[i] = pipe.Do(ctx, c.args...)
	}
	// Exec's own error is the first of the commands'.
	_, _ = pipe.Exec(ctx)
	for i, cmd := range cmds {
		calls[i].text, calls[i].err = cmd.Text()
		if err := calls[i].err; err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
			lost = append(lost, i)
		}
	}
	return lost
}

// Push implements fleet.Transport.
func (t *Transport) Push(ctx context.Context, boot fleet.Boot, batches []*fleet.Batch) {
	calls := make([]call, len(batches))
	for i, b := range batches {
		calls[i] = call{script: &t.push, args: t.pushArgs(boot, b)}
	}
	t.run(ctx, calls)
	for i, b := range batches {
		if b.Err = calls[i].err; b.Err != nil {
			b.Err = explain(b.Err)
		} else {
			b.Err = readPush(b, calls[i].text)
		}
	}
}

// pushArgs lays the names of all keys into one string and all items into one
// argument: one allocation a key, for the interface that holds its name.
func (t *Transport) pushArgs(boot fleet.Boot, b *fleet.Batch) []any {
	names := make([]byte, 0, len(b.Items)*128)
	ends := make([]int, len(b.Items))
	items := make([]byte, 0, len(b.Items)*(1+8*fleet.Args))
	for i := range b.Items {
		it := &b.Items[i]
		names = t.appendKey(names, b.Shard, it)
		ends[i] = len(names)
		items = append(items, byte(it.Op))
		for _, x := range it.Arg {
			items = binary.LittleEndian.AppendUint64(items, math.Float64bits(x))
		}
	}
	args := make([]any, 0, len(b.Items)+9)
	args = append(args, nil, nil, len(b.Items)+1, t.seqName(b.Shard, boot))
	all, from := string(names), 0
	for _, end := range ends {
		args = append(args, all[from:end])
		from = end
	}
	return append(args, b.Seq, strconv.FormatFloat(b.Decay, 'g', -1, 64), int(fleet.SeqTTL/1000), boot[:8], items)
}

func readPush(b *fleet.Batch, reply string) error {
	if len(reply) != 8*(2+3*len(b.Items)) {
		return fmt.Errorf("fleetredis: reply of %d bytes to a batch of %d keys", len(reply), len(b.Items))
	}
	b.Now, b.Prev = double(reply, 0), uint64(max(0, double(reply, 1)))
	if cap(b.Answers) < len(b.Items) {
		b.Answers = make([]fleet.Answer, len(b.Items))
	}
	b.Answers = b.Answers[:len(b.Items)]
	for i := range b.Answers {
		for j := range 3 {
			b.Answers[i][j] = double(reply, 2+3*i+j)
		}
	}
	return nil
}

func double(s string, i int) float64 {
	var b [8]byte
	copy(b[:], s[8*i:])
	return math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
}

// Beat implements fleet.Transport.
func (t *Transport) Beat(ctx context.Context, boot fleet.Boot, b *fleet.Beat) (r fleet.BeatReply, err error) {
	var packed []byte
	for _, x := range [...]float64{float64(b.Tick), b.Capacity, b.Critical, b.Other, b.Held, b.Want, b.U, b.TTL, b.Hold,
		b.Grace, b.Reserve, b.Fixed, b.Expected, b.Known, b.Alone, b.Base, b.Shards, b.Signature} {
		packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(x))
	}
	calls := []call{{script: &t.beat, args: []any{nil, nil, 1, t.groupName(b.Group), boot[:], packed, int(fleet.GroupTTL / 1000)}}}
	t.run(ctx, calls)
	if calls[0].err != nil {
		return r, explain(calls[0].err)
	}
	to := [...]*float64{&r.Now, &r.Quota, &r.Base, &r.Instances, &r.Critical, &r.Other, &r.Capacity, &r.Strangers, &r.Learning}
	if len(calls[0].text) != 8*len(to) {
		return r, fmt.Errorf("fleetredis: reply of %d bytes to a beat", len(calls[0].text))
	}
	for i, p := range to {
		*p = double(calls[0].text, i)
	}
	t.noteAgain(ctx, time.UnixMicro(int64(r.Now)+epoch))
	return r, nil
}

// Leave implements fleet.Transport.
func (t *Transport) Leave(ctx context.Context, boot fleet.Boot, group string) error {
	return t.client.HDel(ctx, t.groupName(group), string(boot[:])).Err()
}
