package policy_test

import (
	"fmt"
	"net/netip"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// A policy makes the engine and binds requests to it; transports do the asking.
func Example() {
	p, err := policy.Parse("policy.yaml", []byte(`
limits:
  search:
    routes: [GET /search]
    key: [address, route]
    rate: 2/min
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	e := engine.Must(engine.New(p.Config()))
	defer e.Close()
	b, err := policy.New(e, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &attrs{route: "GET /search", method: "GET", peer: netip.MustParseAddr("192.0.2.1")}
	for range 3 {
		var room [engine.MaxClaims]engine.Claim // on the stack
		t := e.Admit(b.Bind(request, room[:0]))
		fmt.Println(t.Decision().Reason, t.Decision().Remaining)
		t.Done(engine.Success)
	}
	// Output:
	// admitted 1
	// admitted 0
	// limited 0
}

// Everything that is wrong is reported at once, with its place.
func ExampleParse() {
	_, err := policy.Parse("policy.yaml", []byte(`
limits:
  login:
    key: address
    rate: 10
    brust: 20
`))
	fmt.Println(err)
	// Output:
	// policy: policy.yaml:5:11: limits.login.rate "10": is no rate; write a whole number and a time, such as 10/s, 60/min, 5/h, 1000/day or 20/5s
	// policy: policy.yaml:6:5: limits.login.brust: is no field; did you mean burst?
}

// What only code finds in a request is given under a name.
func ExampleExtract() {
	p, err := policy.Parse("policy.yaml", []byte(`
limits:
  reset: {key: extract email | fold, rate: 5/h, fail: closed}
`), policy.Extract("email", func(a policy.Attrs) string { return a.Query("email") }))
	fmt.Println(p.Config().Limits[0].Burst, err)
	// Output: 5 <nil>
}
