package weirotel_test

import (
	"fmt"

	"go.opentelemetry.io/otel"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/weirotel"
)

// The global provider is whatever the service has set up; without one nothing
// is read.
func ExampleRegister() {
	e := engine.Must(engine.New(engine.Config{}))
	defer e.Close()
	registration, err := weirotel.Register(otel.Meter("example.org/shop"), e)
	fmt.Println(err)
	defer registration.Unregister()
	// Output: <nil>
}
