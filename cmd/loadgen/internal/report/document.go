package report

import "time"

// Document is a run, ready to be shown.
type Document struct {
	Title    string    `json:"title"`
	Lead     string    `json:"lead"`    // what was run, in a sentence
	Started  time.Time `json:"started"` // when
	Verdict  string    `json:"verdict"` // what came out, in a sentence; "" for none
	Bad      bool      `json:"bad"`     // the verdict is that something is not as it should be
	Sections []Section `json:"sections"`
}

// Section is one part of a Document.
type Section struct {
	Title  string   `json:"title"`
	Text   []string `json:"text,omitempty"` // paragraphs
	Tables []Table  `json:"tables,omitempty"`
	Charts []Chart  `json:"charts,omitempty"`
}

// Table is text in columns. The first column is aligned to the left and the
// others to the right.
type Table struct {
	Title   string     `json:"title"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Chart is lines over one axis.
type Chart struct {
	Title string `json:"title"`
	X     string `json:"x"` // the axis and its unit
	Y     string `json:"y"`
	// Log draws the Y axis in powers of ten.
	Log    bool     `json:"log,omitempty"`
	Series []Series `json:"series"`
	Marks  []Mark   `json:"marks,omitempty"`
}

// Series is one line of a Chart: points (X[i], Y[i]) in order of X.
type Series struct {
	Name string    `json:"name"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
}

// Mark is a moment worth pointing at.
type Mark struct {
	X    float64 `json:"x"`
	Text string  `json:"text"`
}
