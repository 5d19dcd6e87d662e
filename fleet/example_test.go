package fleet_test

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleettest"
)

// Two instances of a service behind one limit. Their store is one in memory
// here; fleetredis.New makes the Transport to a Redis.
func Example() {
	store := fleettest.NewTransport(16)
	instance := func() *engine.Engine {
		shared, err := fleet.New(fleet.Config{Transport: store, Expected: 2})
		if err != nil {
			panic(err)
		}
		return engine.Must(engine.New(engine.Config{
			Limits: []engine.Limit{{Name: "api", Rate: 300, Per: time.Second, Burst: 100, Sync: engine.Sync{Mode: engine.SyncShare}}},
			Secret: []byte("the same on every instance"),
			Sync:   shared,
		}))
	}
	a, b := instance(), instance()
	defer a.Close()
	defer b.Close()

	api, _ := a.Limit("api")
	t := a.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{api.Claim(a.Key("acme"))}})
	fmt.Println(t.Decision().Reason) // decided in the process; no request waits for the store
	t.Done(engine.Success)

	for range time.Tick(10 * time.Millisecond) { // they hear of each other within two exchanges
		if a.Snapshot().Fleet.Instances == 2 && b.Snapshot().Fleet.Instances == 2 {
			break
		}
	}
	fmt.Println(b.Snapshot().Fleet.Down)
	// Output:
	// admitted
	// 0
}
