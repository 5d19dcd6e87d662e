package laps

// Bound says on which side of its must and aim a figure has to be.
type Bound string

// The bounds.
const (
	AtMost  Bound = "≤"
	AtLeast Bound = "≥"
)

// Budget is one row of the table of budgets: a figure beside what it must be
// and what it is aimed to be.
type Budget struct {
	ID       string   `json:"id"`
	What     string   `json:"what"`
	Bench    string   `json:"bench"` // the gated benchmark of the same subject
	Unit     string   `json:"unit"`
	Bound    Bound    `json:"bound"`
	Must     float64  `json:"must"`
	Aim      float64  `json:"aim"`
	Measured Measured `json:"measured"`
}

// Verdict is "aim", "must" or "MISSED".
func (b Budget) Verdict() string {
	switch {
	case b.within(b.Aim):
		return "aim"
	case b.within(b.Must):
		return "must"
	}
	return "MISSED"
}

func (b Budget) within(limit float64) bool {
	if b.Bound == AtLeast {
		return b.Measured.Median >= limit
	}
	return b.Measured.Median <= limit
}
