package fleetredis

const slots = 16384

// crc16 is the CRC-16/XMODEM by which Redis Cluster maps a tag to a slot.
func crc16(s string) (crc uint16) {
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

// tagsFor returns n hash tags whose slots are spread evenly: the i-th is the
// shortest string of up to three of 0-9 and a-z that comes closest to the
// middle of the i-th n-th of the slots. It is part of the stored layout.
func tagsFor(n int) []string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	bySlot := make([]string, slots) // three digits reach every slot
	put := func(s string) {
		if c := &bySlot[crc16(s)%slots]; *c == "" {
			*c = s
		}
	}
	for _, a := range digits {
		put(string(a))
	}
	for _, a := range digits {
		for _, b := range digits {
			put(string([]rune{a, b}))
		}
	}
	for _, a := range digits {
		for _, b := range digits {
			for _, c := range digits {
				put(string([]rune{a, b, c}))
			}
		}
	}
	tags := make([]string, n)
	for i := range tags {
		mid := (2*i + 1) * slots / (2 * n)
		for d := 0; tags[i] == ""; d++ {
			lo, hi := bySlot[(mid-d+slots)%slots], bySlot[(mid+d)%slots]
			tags[i] = lo
			if lo == "" || hi != "" && len(hi) < len(lo) {
				tags[i] = hi
			}
		}
	}
	return tags
}
