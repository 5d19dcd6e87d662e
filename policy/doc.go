// Package policy turns a written policy into an engine configuration and the
// bindings from a transport's requests to claims.
package policy
