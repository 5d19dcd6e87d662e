// Package front is what the front doors share: the ticket that travels in a
// request's context, and what a decision and an ending mean on every transport.
package front
