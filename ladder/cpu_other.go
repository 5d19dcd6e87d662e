//go:build !unix

package ladder

import "time"

// processTime is not known here.
func processTime() (time.Duration, bool) { return 0, false }
