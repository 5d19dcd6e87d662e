package key

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns the form of a name under which an account look-up that ignores
// case, blanks around it and Unicode forms would find it: a login name or an
// e-mail address in a key must be folded, or every spelling has a budget of its
// own. Upper and lower case, compatibility forms (NFKC), control and invisible
// characters (NUL among them) and blanks at the ends make no difference;
// invalid UTF-8 counts as U+FFFD. Folding twice changes nothing.
//
// It allocates only for what is not folded ASCII already. It knows nothing of
// mail providers: "a.b@x.org" and "ab@x.org" stay two names.
func Fold(s string) string {
	if isFolded(s) {
		return s
	}
	// Case folding can undo a normal form and trimming can bring new blanks to
	// the ends, so one pass is not always enough. Every pass after the first only
	// composes or removes, which ends; the bound is a safeguard.
	for range 8 {
		f := foldOnce(s)
		if f == s {
			break
		}
		s = f
	}
	return s
}

// isFolded reports whether s is ASCII that Fold would not touch.
func isFolded(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return s == "" || s[0] != ' ' && s[len(s)-1] != ' '
}

func foldOnce(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	s = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}
