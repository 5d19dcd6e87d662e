package replay

import (
	"fmt"

	"github.com/weir-go/weir/engine"
)

// Suggestion is the smallest threshold of one limit that leaves a share of the
// users untouched by it.
type Suggestion struct {
	Limit string
	Field string // what the threshold is: "burst", "rate" or "max"
	Now   int64
	Best  int64 // 0: none up to Most
	Most  int64
	Rate  string // of a token bucket, which stays; "" for other kinds
	Share float64
}

// Suggest looks for each limit's threshold, with all other limits switched
// off, by halving: the lower a threshold, the more users it touches.
func (s *Sim) Suggest(untouched float64) ([]Suggestion, error) {
	var all []Suggestion
	for i, l := range s.policy.Config.Limits {
		field, name, most := threshold(&l)
		if field == nil {
			continue
		}
		sg := Suggestion{Limit: l.Name, Now: *field, Most: most, Field: name}
		if l.Kind == engine.TokenBucket {
			sg.Rate = fmt.Sprintf("%d per %v", l.Rate, l.Per)
		}
		try := func(n int64) (float64, error) {
			cfg := s.policy.Config
			cfg.Limits = append([]engine.Limit(nil), cfg.Limits...)
			for j := range cfg.Limits {
				if j != i {
					cfg.Limits[j].Mode = engine.Off
				}
			}
			f, _, _ := threshold(&cfg.Limits[i])
			*f = n
			cfg.Gate.Mode, cfg.Ladder.Mode = engine.Off, engine.Off
			t, err := s.Tally(cfg)
			if err != nil {
				return 0, err
			}
			return 1 - t.ShareHit(), nil
		}
		lo, hi := int64(0), int64(1) // lo touches too many, or is 0; hi is to be found
		for {
			share, err := try(hi)
			if err != nil {
				return nil, err
			}
			if share >= untouched {
				sg.Best, sg.Share = hi, share
				break
			}
			if hi == most {
				break
			}
			lo, hi = hi, min(2*hi, most)
		}
		for sg.Best > 0 && hi-lo > 1 {
			mid := lo + (hi-lo)/2
			share, err := try(mid)
			if err != nil {
				return nil, err
			}
			if share >= untouched {
				hi, sg.Best, sg.Share = mid, mid, share
			} else {
				lo = mid
			}
		}
		all = append(all, sg)
	}
	return all, nil
}
