// Package wire stands between a client and a TCP server and breaks what passes:
// it cuts the connection, mends it, and delays answers.
package wire
