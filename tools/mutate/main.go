// Command mutate plants small faults in a package and runs its tests against
// each: a fault that the tests pass is a survivor, which means that some line
// is not held by any test.
//
//	mutate                          the planted faults, and a few random ones of the core rooms
//	mutate -n 60 ./bucket ./gate    a random 60 mutants of each package
//	mutate -planted                 the hand-made faults of plants.go
//
// Mutants are compiled through the go command's overlay, so the source files
// are never touched. A survivor that no test can tell from the original is
// listed in explained.txt with the reason; those are counted apart.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

//go:embed explained.txt
var explainedText string

// rooms are what is mutated when nothing else is asked for.
var rooms = []string{"bucket", "gate", "shard", "ladder", "engine"}

func main() {
	var (
		root    = flag.String("root", "..", "directory of the module under test")
		n       = flag.Int("n", 0, "mutants per package, chosen at random; 0: all")
		seed    = flag.Uint64("seed", 1, "of the choice")
		budget  = flag.Duration("budget", 0, "time per package; 0: none")
		tags    = flag.String("tags", "", "build tags")
		match   = flag.String("run", "", "tests to run; empty: all")
		in      = flag.String("in", "", "only mutants whose description contains this")
		also    = flag.String("also", "", "comma-separated packages whose tests run too")
		planted = flag.Bool("planted", false, "run the planted faults instead")
		list    = flag.Bool("list", false, "print the mutants, run nothing")
	)
	flag.Parse()
	r := runner{root: *root, tags: *tags, match: *match}
	if *planted {
		os.Exit(runPlanted(r, *in))
	}
	code := 0
	pkgs := flag.Args()
	if len(pkgs) == 0 {
		code = runPlanted(r, *in)
		pkgs = rooms
		*n, *budget = 25, 3*time.Minute
	}
	for _, pkg := range pkgs {
		pkg = "./" + filepath.ToSlash(filepath.Clean(pkg))
		ms, err := mutants(*root, pkg, *tags)
		if err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			os.Exit(1)
		}
		ms = choose(ms, *in, *n, *seed)
		if *list {
			for _, m := range ms {
				fmt.Println(m)
			}
			continue
		}
		tests := []string{pkg}
		if *also != "" {
			tests = append(tests, strings.Split(*also, ",")...)
		}
		if !runPackage(r, pkg, tests, ms, *budget) {
			code = 1
		}
	}
	os.Exit(code)
}

func choose(ms []mutant, in string, n int, seed uint64) []mutant {
	var out []mutant
	for _, m := range ms {
		if strings.Contains(m.String(), in) {
			out = append(out, m)
		}
	}
	if n > 0 && n < len(out) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		rnd.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		out = out[:n]
	}
	return out
}

// runPackage reports whether every survivor is explained.
func runPackage(r runner, pkg string, tests []string, ms []mutant, budget time.Duration) bool {
	why := explained()
	base := r.test(nil, tests)
	if base.verdict != survived {
		fmt.Printf("%s: the tests fail without any fault\n%s", pkg, base.output)
		return false
	}
	r.limit = max(20*time.Second, 4*base.took)
	start := time.Now()
	var count [4]int
	known := 0
	for i, m := range ms {
		if budget > 0 && time.Since(start) > budget {
			fmt.Printf("%s: out of time after %d of %d mutants\n", pkg, i, len(ms))
			break
		}
		res := r.test(m.overlay(r.root), tests)
		count[res.verdict]++
		if res.verdict != survived {
			continue
		}
		if reason, ok := why[m.id()]; ok {
			known++
			fmt.Printf("explained  %s\n           %s\n", m, reason)
			continue
		}
		fmt.Printf("SURVIVED   %s\n", m)
	}
	ran := count[killed] + count[timedOut] + count[survived]
	fmt.Printf("%s: %d mutants: %d killed, %d timed out, %d survived (%d of them explained); %d did not compile; %v\n",
		pkg, ran, count[killed], count[timedOut], count[survived], known, count[unbuilt], time.Since(start).Round(time.Second))
	return count[survived] == known
}

// explained reads the known equivalent mutants: lines of "id # reason".
func explained() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(explainedText) {
		id, reason, ok := strings.Cut(strings.TrimSpace(line), " # ")
		if ok && !strings.HasPrefix(id, "#") {
			m[strings.TrimSpace(id)] = reason
		}
	}
	return m
}
