// Package fleet shares limits between the instances of a service, off the way
// of a request.
package fleet
