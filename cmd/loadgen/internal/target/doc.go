// Package target is what a load is sent to: one request in, one result out.
//
//	HTTP     a real server
//	GRPC     a real server, any unary method
//	Engine   an engine in this process
package target
