package main

const (
	table = "shard/take.go"
	find  = "shard/find.go"
)

// plants are the planted faults. Each takes away one thing that the protocol
// of the key table, the words or the gate needs.
var plants = []plant{
	// The key table: every part of its protocol.
	{name: "first sight without the mutex", file: table, find: "\tmu.Lock()\n\tdefer mu.Unlock()\n\ttag := ", with: "\ttag := ", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "first sight does not look again under the mutex", file: table, find: "if s, _ := t.search(tag, base, in); s != None {", with: "if s, _ := t.search(tag, base, in); false && s != None {", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "first sight takes the time it came with", file: table, find: "\tnow := t.clock.Now()\n\tat := c.Rule.At(now)\n\tc.Word = c.Rule.Fresh(0, at)\n", with: "\tnow := t.clock.Now()\n\tat := c.Rule.At(0)\n\tc.Word = c.Rule.Fresh(0, at)\n", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a slot changes hands unfrozen", file: table, find: "if s.word.CompareAndSwap(w, v|bucket.Frozen) {", with: "if s.word.CompareAndSwap(w, v|w&bucket.Payload) {", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a slot is seized by a plain store", file: table, find: "if s.word.CompareAndSwap(w, v|bucket.Frozen) {", with: "if s.word.Store(v | bucket.Frozen); true {", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a slot changes hands without a new version", file: table, find: "\t\tv := w&^uint64(bucket.Payload) + bucket.VersionOne\n\t\tif", with: "\t\tv := w &^ uint64(bucket.Payload)\n\t\tif", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a birth without a new version", file: table, find: "\t\t\tv := w&^uint64(bucket.Payload) + bucket.VersionOne\n\t\t\tfresh", with: "\t\t\tv := w &^ uint64(bucket.Payload)\n\t\t\tfresh", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a word in use is given away", file: table, find: "case !evict && id != 0 && !t.ids.idle(id, w, now):", with: "case false:", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "the tag is not loaded again", file: find, find: "if w := s.word.Load(); s.tag.Load() == tag {", with: "if w := s.word.Load(); true {", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a frozen word is not waited for", file: find, find: "if at == None || word&bucket.Payload != bucket.Frozen {", with: "if true {", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a refusal does not look at the version again", file: table, find: "if c.Slot == None || t.same(c.Slot, c.Word) {", with: "if true {", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a known key is charged by a plain store", file: table, find: "if c.Slot == None || !t.slot(c.Slot).word.CompareAndSwap(c.Word, c.next) {\n\t\treturn false\n\t}", with: "if c.Slot == None {\n\t\treturn false\n\t}\n\tt.slot(c.Slot).word.Store(c.next)", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a watching limit keeps its slot when its word changes", file: table, find: "\t\t\treturn w, true\n\t\t}\n\t}\n", with: "\t\t\treturn w, true\n\t\t}\n\t\treturn 0, false\n\t}\n", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "the sweep erases by a plain store", file: "shard/sweep.go", find: "if s.tag.Load() != tag || !s.word.CompareAndSwap(w, v|bucket.Frozen) {", with: "if s.word.Store(v | bucket.Frozen); s.tag.Load() != tag {", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "the sweep renews by a plain store", file: "shard/sweep.go", find: "s.word.CompareAndSwap(w, next)\n", with: "s.word.Store(next)\n", pkg: "./shard", tags: "explore", run: "Explore"},

	// Undo, release, settle.
	{name: "undo does not look at the version", file: table, find: "if w>>56 != c.Word>>56 || w&bucket.Payload == bucket.Frozen {\n\t\t\treturn\n", with: "if w&bucket.Payload == bucket.Frozen {\n\t\t\treturn\n", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "undo gives back what has drained since", file: "bucket/token.go", find: "back -= min(back, passed)", with: "back -= 0 * passed", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "undo by a plain store", file: table, find: "if next == w || s.word.CompareAndSwap(w, next) {", with: "if s.word.Store(next); true {", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "undo takes the time it began with", file: table, find: "next = c.Rule.Undo(w, c.Rule.At(t.clock.Now()), c.Word, c.Cost)", with: "next = c.Rule.Undo(w, c.Rule.At(0), c.Word, c.Cost)", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a release does not look at the life", file: table, find: "if bucket.Life(w) != life || bucket.InUse(w) < cost {", with: "if bucket.InUse(w) < cost {", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a settlement loses a charge", file: table, find: "if t.slot(c.Slot).word.CompareAndSwap(c.Word, next) {\n\t\t\tc.Word = next", with: "if t.slot(c.Slot).word.CompareAndSwap(c.Word, next); true {\n\t\t\tc.Word = next", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "letting go of a hold does not advance its sequence", file: "bucket/hold.go", find: "seq := ((w&Payload)>>holdBits + 1) & holdSeq", with: "seq := (w & Payload) >> holdBits & holdSeq", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "the bucket is looked at before the hold", file: table, find: "c.next, ok = c.Rule.TakeHold(c.Word, t.Beside(c, at), at, c.Cost)", with: "b := t.Beside(c, at)\n\t\tif s, w := t.Find(c.H, c.ID); s != None {\n\t\t\tc.Slot, c.Word = s, w\n\t\t}\n\t\tc.next, ok = c.Rule.TakeHold(c.Word, b, at, c.Cost)", pkg: "./shard", tags: "explore", run: "Explore"},
}
