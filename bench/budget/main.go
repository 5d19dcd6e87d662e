package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 31, "rounds of every measurement")
	flag.DurationVar(&o.lap, "lap", 20*time.Millisecond, "length of a lap")
	flag.BoolVar(&o.full, "full", false, "measure memory and garbage collection with 10 million states instead of 1 million")
	flag.StringVar(&o.only, "only", "", "measure this subject alone: scaling, refusal, fleet, memory, garbage collection, floor or storm")
	jsonPath := flag.String("json", "", "also write the figures to this file")
	flag.Parse()
	if o.rounds < 1 || o.lap <= 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	r, err := measure(o)
	if err == nil {
		err = r.Write(os.Stdout, *jsonPath)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "budget:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds int
	lap    time.Duration
	full   bool
	only   string
}

// states is the number of states for the figures that need many.
func (o options) states() int {
	if o.full {
		return 10e6
	}
	return 1e6
}
