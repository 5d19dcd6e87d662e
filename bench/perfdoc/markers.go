package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	opening = "<!-- table: "
	closing = "<!-- end -->"
)

// fill puts each table between its markers. A marker without a table, a table
// without a marker and a marker that is not closed are errors: what the document
// shows must be what was measured.
func fill(text string, tables map[string]string) (string, error) {
	var out strings.Builder
	left := maps.Clone(tables)
	for {
		before, rest, found := strings.Cut(text, opening)
		out.WriteString(before)
		if !found {
			break
		}
		name, rest, _ := strings.Cut(rest, " -->")
		table, ok := tables[name]
		if !ok {
			return "", fmt.Errorf("table %q: nothing makes it", name)
		}
		old, rest, found := strings.Cut(rest, closing)
		if !found || strings.Contains(old, opening) {
			return "", fmt.Errorf("table %q: has no end", name)
		}
		delete(left, name)
		out.WriteString(opening + name + " -->\n" + table + closing)
		text = rest
	}
	if len(left) > 0 {
		return "", fmt.Errorf("tables %q: have no place", slices.Sorted(maps.Keys(left)))
	}
	return out.String(), nil
}
