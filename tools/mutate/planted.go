package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// plant is a fault of a kind that weir promises not to have, put in by hand,
// and the tests that must see it.
type plant struct {
	name string
	file string // relative to the root
	find string // must occur exactly once
	with string
	pkg  string
	tags string
	run  string
}

// runPlanted returns the process's exit code: 0 when the tests found every
// fault.
func runPlanted(r runner, in string) int {
	code := 0
	for _, p := range plants {
		if !strings.Contains(p.name, in) {
			continue
		}
		path := filepath.Join(r.root, p.file)
		src, err := os.ReadFile(path)
		if err != nil || bytes.Count(src, []byte(p.find)) != 1 {
			fmt.Printf("STALE     %s: %s no longer has the line once: %s\n", p.name, p.file, p.find)
			code = 1
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			panic(err)
		}
		r.tags, r.match = p.tags, p.run
		res := r.test(map[string][]byte{abs: bytes.Replace(src, []byte(p.find), []byte(p.with), 1)}, []string{p.pkg})
		switch res.verdict {
		case killed, timedOut:
			fmt.Printf("found     %s\n", p.name)
		case survived:
			fmt.Printf("NOT FOUND %s\n", p.name)
			code = 1
		case unbuilt:
			fmt.Printf("UNBUILT   %s\n%s", p.name, res.output)
			code = 1
		}
	}
	return code
}
