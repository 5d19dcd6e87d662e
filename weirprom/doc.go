// Package weirprom shows an engine's Snapshot to Prometheus.
//
// Nothing is counted here: the Collector reads the engine when it is scraped,
// and a request pays nothing for it. Labels come from the configuration and
// from closed enumerations, so no client can add a series.
package weirprom
