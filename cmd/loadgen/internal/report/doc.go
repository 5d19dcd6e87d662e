// Package report turns the figures of a run into something to look at: text
// tables for a terminal, and one self-contained HTML file with charts inline
// for an incident review or a tuning proposal.
//
// A verb describes its run as a Document; its JSON carries the Document beside
// the verb's own figures, and that is all that "loadgen report" reads.
package report
