package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"svg": func(c Chart) template.HTML { return template.HTML(c.svg()) }, // built of escaped text and numbers
}).Parse(pageText))

// WriteHTML writes the document as one file that needs nothing else: no
// script, no font, no network.
func (d Document) WriteHTML(w io.Writer) error {
	if err := page.Execute(w, d); err != nil {
		return fmt.Errorf("report: html: %w", err)
	}
	return nil
}
