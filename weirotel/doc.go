// Package weirotel shows an engine's Snapshot to OpenTelemetry, through
// observable instruments: the engine is read when the reader collects, and a
// request pays nothing for it. Attributes come from the configuration and from
// closed enumerations, so no client can add a series.
package weirotel
