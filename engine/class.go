package engine

// Class is the importance of a request. The set is closed and ordered: when
// the process is overloaded, Test is shed first and Critical last; they are
// restored in the reverse order. A class is set by the server's own
// classifier, never by the client.
type Class uint8

// The classes, in the order in which they are shed. The zero value means "not
// classified": the request counts as Config.Default and is counted, so that a
// stale classification shows.
const (
	ClassUnset Class = iota
	Test             // test-mode traffic
	Read             // safe methods: GET, HEAD
	Write            // POST and the other unsafe methods
	Critical         // what the business lives on

	numClasses = int(Critical) + 1
)

var classNames = [numClasses]string{"unset", "test", "read", "write", "critical"}

// String returns the class's name in lower case.
func (c Class) String() string {
	if int(c) < numClasses {
		return classNames[c]
	}
	return "unknown"
}

// ParseClass returns the class with the given name; "" and unknown names are
// not classes.
func ParseClass(name string) (Class, bool) {
	for c := Test; c <= Critical; c++ {
		if classNames[c] == name {
			return c, true
		}
	}
	return ClassUnset, false
}
