package ladder

import "math"

// tierOne is one tier on the scale of a Word: levels are kept in 65,536ths.
const tierOne = 1 << 16

// Word is a level as the hot path reads it: [salt 32 | level in 65,536ths of a
// tier 32]. Both travel in one word, so that no request sees a new level with an
// old salt. The zero Word sheds nothing.
type Word uint64

// MakeWord returns the word for a level in tiers; a level that is not a number
// or negative is 0, and above Tiers it is Tiers.
//
// salt chooses who goes first: with another one, others do. It must stay the
// same while an incident lasts and should be the same on all instances, so that
// a retry meets the same answer wherever it lands.
func MakeWord(level float64, salt uint32) Word {
	if !(level > 0) {
		level = 0
	}
	return Word(salt)<<32 | Word(math.Round(min(level, Tiers)*tierOne))
}

// Sheds reports whether a request of the tier (0 test-mode, 1 read, 2 write, 3
// critical) is shed. cohort stands for the requester: it is looked at only in
// the tier at the boundary. Whoever is shed at a level is shed at every higher
// one under the same salt.
func (w Word) Sheds(tier int, cohort uint64) bool {
	// A request has the position tier*65536 + h with h from its cohort, and is
	// shed if that lies below the level. Below the tier's first position no h
	// matters: with nothing shed this is one compare.
	return uint32(tier)*tierOne < uint32(w) && w.shedsFrom(uint32(tier)*tierOne, cohort)
}

// shedsFrom decides for a tier whose first position lies below the level.
func (w Word) shedsFrom(first uint32, cohort uint64) bool {
	level := uint32(w)
	return level-first >= tierOne || position(cohort, uint32(w>>32)) < level-first
}

// position is the place of a cohort within its tier, 0 to 65535. It is the same
// in every process and every version. Two multiplications with shifts between
// them, by the first digits of the golden ratio and of the roots of 2 and 3:
// enough that neither counting cohorts nor counting salts leave a pattern.
func position(cohort uint64, salt uint32) uint32 {
	x := cohort ^ (uint64(salt)+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>32) * 0x6a09e667f3bcc909
	x = (x ^ x>>29) * 0xbb67ae8584caa73b
	return uint32(x >> 48)
}
