// Package record keeps latencies: one histogram per worker and class, merged
// by summing counts, never by averaging percentiles. What lies outside the
// range is counted and kept at its edge, so that no result looks better than
// it is; the true maximum is kept apart.
package record
