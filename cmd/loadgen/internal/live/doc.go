// Package live shows a running story in a browser: a page with charts and
// controls, fed by server-sent events, all of it from this binary.
//
//	Hub       what happens, to whoever watches; the last minutes to whoever comes
//	Handler   the page, the stream, and the controls
package live
