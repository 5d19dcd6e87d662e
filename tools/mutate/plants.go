package main

const (
	table         = "shard/take.go"
	find          = "shard/find.go"
	spend         = "bucket/spend.go"
	stripe        = "gate/stripe.go"
	admit         = "engine/admit.go"
	expressShared = "engine/expressshared.go"
	ticket        = "engine/ticket.go"
	draftGo       = "engine/draft.go"
	recordGo      = "engine/record.go"
)

// plants are the planted faults. Each takes away one thing that the protocol
// of the key table, the words or the gate needs.
var plants = []plant{
	// The key table: every part of its protocol.
	{name: "first sight without the mutex", file: table, find: "\tmu.Lock()\n\tdefer mu.Unlock()\n\ttag := ", with: "\t_ = mu\n\ttag := ", pkg: "./shard", tags: "explore", run: "ExploreOneBirth$"},
	{name: "first sight does not look again under the mutex", file: table, find: "if s, _ := t.search(tag, base, in); s != None {", with: "if s, _ := t.search(tag, base, in); false && s != None {", pkg: "./shard", tags: "explore", run: "ExploreOneBirth$"},
	{name: "first sight takes the time it came with", file: table, find: "\tc.At = c.Rule.At(now)\n\tc.Word = c.Rule.Fresh(0, c.At)\n\tif !t.decide", with: "\tc.At = c.Rule.At(0)\n\tc.Word = c.Rule.Fresh(0, c.At)\n\tif !t.decide", pkg: "./shard", tags: "explore", run: "ExploreUndoWhileTimePasses|ExploreReclaim"},
	{name: "a slot changes hands unfrozen", file: table, find: "if s.word.CompareAndSwap(w, v|bucket.Frozen) {", with: "if s.word.CompareAndSwap(w, v|w&bucket.Payload) {", pkg: "./shard", tags: "explore", run: "ExploreReclaim|ExploreUndo"},
	{name: "a slot is seized by a plain store", file: table, find: "if s.word.CompareAndSwap(w, v|bucket.Frozen) {", with: "if s.word.Store(v | bucket.Frozen); true {", pkg: "./shard", tags: "explore", run: "ExploreReclaim|ExploreUndo"},
	{name: "a slot changes hands without a new version", file: table, find: "\t\tv := w&^uint64(bucket.Payload) + bucket.VersionOne\n\t\tif", with: "\t\tv := w &^ uint64(bucket.Payload)\n\t\tif", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a birth without a new version", file: table, find: "\t\t\tv := w&^uint64(bucket.Payload) + bucket.VersionOne\n\t\t\tt.raise", with: "\t\t\tv := w &^ uint64(bucket.Payload)\n\t\t\tt.raise", pkg: "./shard", tags: "explore", run: "Explore"},
	{name: "a word in use is given away", file: table, find: "if how == idle && !t.ids.idle(uint8(tag), w, now) {", with: "if false {", pkg: "./shard", tags: "explore", run: "ExploreReclaim"},
	{name: "the tag is not loaded again", file: find, find: "if w := s.word.Load(); s.tag.Load() == tag {", with: "if w := s.word.Load(); true {", pkg: "./shard", tags: "explore", run: "ExploreReclaim|ExploreUndo"},
	{name: "a frozen word is not waited for", file: find, find: "if at == None || !bucket.IsFrozen(word) {", with: "if at == None || word&bucket.Payload != 0 {", pkg: "./shard", tags: "explore", run: "ExploreReclaim|ExploreUndo|ExploreOneBirth"},
	{name: "a refusal does not look at the version again", file: table, find: "if c.Slot == None || t.same(c.Slot, c.Word) {", with: "if true {", pkg: "./shard", tags: "explore", run: "ExploreNobody"},
	{name: "a known key is charged by a plain store", file: table, find: "if c.Slot == None || !t.slot(c.Slot).word.CompareAndSwap(c.Word, c.next) {\n\t\treturn false\n\t}", with: "if c.Slot == None {\n\t\treturn false\n\t}\n\tt.slot(c.Slot).word.Store(c.next)", pkg: "./shard", tags: "explore", run: "ExploreReclaim"},
	{name: "a watching limit keeps its slot when its word changes", file: table, find: "\t\t\treturn w, true\n\t\t}\n\t}\n", with: "\t\t\treturn w, true\n\t\t}\n\t\treturn 0, false\n\t}\n", pkg: "./shard", tags: "explore", run: "ExploreShadow"},
	{name: "the sweep erases by a plain store", file: "shard/sweep.go", find: "if s.tag.Load() != tag || !s.word.CompareAndSwap(w, v|bucket.Frozen) {", with: "if s.word.Store(v | bucket.Frozen); s.tag.Load() != tag {", pkg: "./shard", tags: "explore", run: "ExploreErase"},
	{name: "the sweep renews by a plain store", file: "shard/sweep.go", find: "s.word.CompareAndSwap(w, next)\n", with: "s.word.Store(next)\n", pkg: "./shard", tags: "explore", run: "ExploreRenew"},

	// Undo, release, settle.
	{name: "undo does not look at the version", file: table, find: "if w>>56 != c.Word>>56 || bucket.IsFrozen(w) {\n\t\t\treturn\n", with: "if bucket.IsFrozen(w) {\n\t\t\treturn\n", pkg: "./shard", tags: "explore", run: "ExploreALate"},
	{name: "undo gives back what has drained since", file: "bucket/units.go", find: "units -= min(units, passed)", with: "units -= 0 * passed", pkg: "./shard", tags: "explore", run: "ExploreUndoWhileTimePasses"},
	{name: "undo by a plain store", file: table, find: "if next == w || s.word.CompareAndSwap(w, next) {", with: "if s.word.Store(next); true {", pkg: "./shard", tags: "explore", run: "ExploreUndo"},
	{name: "undo takes the time it began with", file: table, find: "next = c.Rule.Undo(w, c.Rule.At(t.clock.Now()), c.Word, c.Cost)", with: "next = c.Rule.Undo(w, c.Rule.At(0), c.Word, c.Cost)", pkg: "./shard", tags: "explore", run: "ExploreUndoWhileTimePasses"},
	{name: "a release does not look at the life", file: table, find: "if bucket.Life(w) != life || bucket.InUse(w) < cost {", with: "if bucket.InUse(w) < cost {", pkg: "./shard", tags: "explore", run: "ExploreInFlight"},
	{name: "a settlement loses a charge", file: table, find: "if t.slot(c.Slot).word.CompareAndSwap(c.Word, next) {\n\t\t\tc.Word = next", with: "if t.slot(c.Slot).word.CompareAndSwap(c.Word, next); true {\n\t\t\tc.Word = next", pkg: "./shard", tags: "explore", run: "ExploreSettle"},
	{name: "letting go of a hold does not advance its sequence", file: "bucket/hold.go", find: "seq := ((w&Payload)>>holdBits + 1) & holdSeq", with: "seq := (w & Payload) >> holdBits & holdSeq", pkg: "./shard", tags: "explore", run: "ExploreSettle"},
	{name: "the bucket is looked at before the hold", file: table, find: "c.next, ok = r.TakeHold(c.Word, t.Beside(c), c.At, c.Cost)", with: "b := t.Beside(c)\n\t\tif s, w := t.Find(c.H, c.ID); s != None {\n\t\t\tc.Slot, c.Word = s, w\n\t\t}\n\t\tc.next, ok = r.TakeHold(c.Word, b, c.At, c.Cost)", pkg: "./shard", tags: "explore", run: "ExploreSettle"},

	// The gate.
	{name: "the gate is entered by a plain store", file: "gate/gate.go", find: "case fits(w, critical):\n\t\t\tif g.word.CompareAndSwap(w, w-one(critical)) {", with: "case fits(w, critical):\n\t\t\tif g.word.Store(w - one(critical)); true {", pkg: "./gate", tags: "explore", run: "ExploreTheGate$"},
	{name: "the gate on its lease is entered by a plain store", file: "gate/gate.go", find: "if ok && !g.word.CompareAndSwap(w, w-one(critical)) {\n\t\t\tcontinue\n\t\t}", with: "if ok {\n\t\t\tg.word.Store(w - one(critical))\n\t\t}", pkg: "./gate", tags: "explore", run: "ExploreTheGate$"},
	{name: "a lease goes by a size that is no more", file: "gate/gate.go", find: "if g.resizes.Load() == resize {\n\t\t\treturn ok", with: "if g.resizes.Load() >= resize {\n\t\t\treturn ok", pkg: "./gate", tags: "explore", run: "ExploreALease"},
	{name: "a lease that met a resize keeps its place", file: "gate/gate.go", find: "\t\tif ok {\n\t\t\tg.Leave(critical)\n\t\t}\n", with: "", pkg: "./gate", tags: "explore", run: "ExploreALease"},
	{name: "the gate does not bound critical requests by its hard cap", file: "gate/gate.go", find: "return all > 0 && (critical || others > 0)", with: "return critical || all > 0 && others > 0", pkg: "./gate", run: "CapacityDoesNotBound"},
	{name: "the gate admits one too many", file: "gate/gate.go", find: "return all > 0 && (critical || others > 0)", with: "return all > 0 && (critical || others >= 0)", pkg: "./gate", run: "Linear|HistoriesAgree"},
	{name: "the gate is resized with its places apart", file: "gate/gate.go", find: "\tg.gather() // what lies in stripes is let in without a look at the word\n", with: "", pkg: "./gate", tags: "explore", run: "ExploreShrinkingWith|ExploreAHardCap"},
	{name: "the gate refuses while places lie apart", file: "gate/gate.go", find: "\t\tcase w&apart == 0:\n\t\t\treturn false\n", with: "\t\tcase true:\n\t\t\treturn false\n", pkg: "./gate", tags: "explore", run: "ExploreNobodyIsRefused"},
	{name: "stripes open before the gate's word says so", file: stripe, find: "\tg.word.Add(apart)\n\tfor _, s := range g.stripes {\n\t\ts.word.Store(open)\n\t}\n", with: "\tfor _, s := range g.stripes {\n\t\ts.word.Store(open)\n\t}\n\tg.word.Add(apart)\n", pkg: "./gate", tags: "explore", run: "ExploreNobodyIsRefused"},
	{name: "places go back before their stripes are closed", file: stripe, find: "\tsum := uint64(0)\n\tfor _, s := range g.stripes {\n\t\tsum += lying(s.word.Swap(0))\n\t}\n\tg.word.Add(sum - apart)\n", with: "\tsum := uint64(0)\n\tfor _, s := range g.stripes {\n\t\tsum += lying(s.word.Load())\n\t}\n\tg.word.Add(sum - apart)\n\tfor _, s := range g.stripes {\n\t\ts.word.Store(0)\n\t}\n", pkg: "./gate", tags: "explore", run: "ExploreNobodyIsRefused|ExploreThePlaces"},
	{name: "the gate's word says together before the places are back", file: stripe, find: "\tsum := uint64(0)\n\tfor _, s := range g.stripes {\n\t\tsum += lying(s.word.Swap(0))\n\t}\n\tg.word.Add(sum - apart)\n", with: "\tg.word.Add(^uint64(apart - 1))\n\tsum := uint64(0)\n\tfor _, s := range g.stripes {\n\t\tsum += lying(s.word.Swap(0))\n\t}\n\tg.word.Add(sum)\n", pkg: "./gate", tags: "explore", run: "ExploreNobodyIsRefused"},
	{name: "a stripe is closed with a load and a store", file: stripe, find: "sum += lying(s.word.Swap(0))", with: "sum += lying(s.word.Load())\n\t\ts.word.Store(0)", pkg: "./gate", tags: "explore", run: "ExploreNobodyIsRefused|ExploreCritical"},
	{name: "a critical request is counted by a closed stripe", file: stripe, find: "need, change = open, oneCritical", with: "need, change = 0, oneCritical", pkg: "./gate", tags: "explore", run: "ExploreCritical"},
	{name: "a place is left in a closed stripe", file: stripe, find: "if w&open == 0 {\n\t\t\tg.Leave(critical)", with: "if w == 1<<63 {\n\t\t\tg.Leave(critical)", pkg: "./gate", tags: "explore", run: "ExploreNobodyIsRefused"},
	{name: "a place is taken from a stripe by a plain store", file: stripe, find: "if w&half < need {\n\t\t\treturn g.Enter(critical)\n\t\t}\n\t\tif s.word.CompareAndSwap(w, w+change) {", with: "if w&half < need {\n\t\t\treturn g.Enter(critical)\n\t\t}\n\t\tif s.word.Store(w + change); true {", pkg: "./gate", tags: "explore", run: "ExploreThePlaces"},
	{name: "a place is taken at once from a closed stripe", file: stripe, find: "return w&half >= open+onePlace && s.word.CompareAndSwap(w, w-onePlace)", with: "return s.word.CompareAndSwap(w, w-onePlace)", pkg: "./gate", tags: "explore", run: "ExploreThePlaces"},
	{name: "a place that is not there is taken at once", file: stripe, find: "return w&half >= open+onePlace && s.word.CompareAndSwap(w, w-onePlace)", with: "return w&half >= open && s.word.CompareAndSwap(w, w-onePlace)", pkg: "./gate", tags: "explore", run: "ExploreThePlaces"},
	{name: "a place is taken at once by a plain store", file: stripe, find: "return w&half >= open+onePlace && s.word.CompareAndSwap(w, w-onePlace)", with: "if w&half < open+onePlace {\n\t\treturn false\n\t}\n\ts.word.Store(w - onePlace)\n\treturn true", pkg: "./gate", tags: "explore", run: "ExploreThePlaces"},
	{name: "critical requests that came by a stripe are forgotten", file: stripe, find: "*oneOther - w>>32*oneCritical }", with: "*oneOther }", pkg: "./gate", tags: "explore", run: "ExploreCritical"},
	{name: "places go apart while somebody holds them", file: stripe, find: "if !g.held && g.roomy() {", with: "if g.roomy() {", pkg: "./gate", tags: "explore", run: "ExploreSpreading"},
	{name: "places go apart without a look under the lock", file: stripe, find: "if !g.held && g.roomy() {", with: "if !g.held {", pkg: "./gate", tags: "explore", run: "ExploreSpreading"},

	// The same table, seen by a checker of histories instead of the explorer.
	{name: "the express way charges by a plain store", file: find, find: "func (s *Slot) Change(old, next uint64) bool { return s.word.CompareAndSwap(old, next) }", with: "func (s *Slot) Change(old, next uint64) bool { s.word.Store(next); return true }", pkg: "./shard", tags: "explore", run: "Explore(Reclaim|Undo)"},
	{name: "the express way does not load the tag again", file: find, find: "return word, s.tag.Load() == tag && ", with: "return word, ", pkg: "./shard", tags: "explore", run: "Explore(Reclaim|Undo)"},
	{name: "the express way charges a frozen word", file: find, find: "return word, s.tag.Load() == tag && !bucket.IsFrozen(word)\n", with: "return word, s.tag.Load() == tag\n", pkg: "./shard", tags: "explore", run: "Explore(Reclaim|Undo)"},
	{name: "a key away from home is charged without a second look at its tag", file: find, find: "word, ok = s.Read(tag)\n", with: "word, ok = s.word.Load(), true\n", pkg: "./shard", tags: "explore", run: "ExploreReclaim"},

	// A decision's time and amounts in the bucket's own units; the line that is asked for.
	{name: "a charge becomes the reserved payload", file: spend, find: "if next = at + d; next == Frozen<<8 {", with: "if next = at + d; false {", pkg: "./bucket", run: "Spending"},
	{name: "what is idle is a gift", file: spend, find: "d := uint64(max(int64(w<<8-at), 0)) + amount", with: "d := w<<8 - at + amount", pkg: "./bucket", run: "Spending"},
	{name: "a charge changes the version", file: spend, find: "return w&^uint64(Payload) | next>>8", with: "return next>>8", pkg: "./bucket", run: "Spending"},
	{name: "a key's line is past the last", file: "key/ahead.go", find: "return h >> 32 * n >> 32", with: "return h>>32*n>>32 + 1", pkg: "./key", run: "LinesAreInside"},
	{name: "a hasher asks for other lines than the table looks at", file: "shard/table.go", find: "return key.Line(h, t.all)", with: "return key.Line(h, t.all-1)", pkg: "./shard", run: "AHasherAsks"},
	{name: "a short text's last bytes are left out", file: "key/key.go", find: "for ; at < n; at++ {", with: "for ; at < n-1; at++ {", pkg: "./key", run: "ThePublicHalf"},
	{name: "more than a short text is read", file: "key/public.go", find: "uint64(binary.LittleEndian.Uint32((*[4]byte)(p)[:]))", with: "binary.LittleEndian.Uint64((*[8]byte)(p)[:])<<32>>32", pkg: "./key", run: "PartsAtTheEdge"},

	{name: "histories: a bucket keeps what was undone", file: "bucket/rule.go", find: "return r.undoToken(w, at, done, cost)", with: "return w", pkg: "./shard", run: "Linear"},
	{name: "histories: a quota keeps what was undone", file: "bucket/rule.go", find: "return undoQuota(w, done, cost)", with: "return w", pkg: "./shard", run: "Linear"},
	{name: "histories: a window admits one too many", file: "bucket/sliding.go", find: "if sum(s)+cost > r.max {\n\t\treturn w, false", with: "if sum(s)+cost > r.max+1 {\n\t\treturn w, false", pkg: "./shard", run: "Linear"},
	{name: "histories: an in-flight limit does not count what is asked for", file: "bucket/flight.go", find: "if InUse(w)+cost > r.max {", with: "if InUse(w) >= r.max {", pkg: "./shard", run: "Linear"},
	{name: "histories: a word in use is given away", file: table, find: "if how == idle && !t.ids.idle(uint8(tag), w, now) {", with: "if false {", pkg: "./shard", run: "Linear|ReclaimIsLossless"},

	// The engine.
	{name: "a watching limit that would refuse holds a place", file: "engine/answer.go", find: "case s.refused && s.l.shared == nil:\n", with: "case false:\n", pkg: "./engine", run: "Shadow"},
	{name: "a refusal is decided on the published time", file: admit, find: "if now, refused = e.lookAgain(f); refused {", with: "if refused {", pkg: "./engine", run: "StarvedTicker"},
	{name: "a lost race is not undone", file: "engine/fail.go", find: "e.quietly(func() { e.undo(f, s) })", with: "_ = e.undo", pkg: "./engine", tags: "explore", run: "ExploreALostRace"},
	{name: "a lost race keeps its place in the gate", file: "engine/fail.go", find: "\tt.n, t.holds = 0, [few]hold{}\n\te.leave(t)\n", with: "\tt.n = 0\n", pkg: "./engine", tags: "explore", run: "ExploreALostRace"},
	{name: "a ticket can be given back twice", file: ticket, find: "if s&ticketDone != 0 || !atomic.CompareAndSwapUint32(&t.state.flags, s, s|ticketDone) {", with: "if s&ticketDone != 0 && !atomic.CompareAndSwapUint32(&t.state.flags, s, s|ticketDone) {", pkg: "./engine", run: "Surplus|InFlightReturns|Soak"},
	{name: "a ticket that holds nothing can be done twice", file: ticket, find: "\t\tt.state.flags = ticketLone | ticketDone\n", with: "", pkg: "./engine", run: "SecondDone"},
	{name: "an estimate's key is not kept", file: draftGo, find: "\tif h.kind == holdQuota || h.kind == holdEstimate {\n\t\te.add(t, hold{kind: holdHash, word: s.H})\n\t}\n", with: "", pkg: "./engine", run: "WhateverATicket"},
	{name: "an estimate is charged to the key in its own cell", file: ticket, find: "e.settle(h, holds[i+1].word, bucket.Held(h.word))", with: "e.settle(h, h.word, bucket.Held(h.word))", pkg: "./engine", run: "WhateverATicket"},
	{name: "a ticket keeps all that its key has in flight", file: draftGo, find: "bucket.FlightPart(s.Word, s.Cost)", with: "s.Word", pkg: "./engine", run: "WhateverATicket"},
	{name: "a ticket has no room for its last cell", file: ticket, find: "maxHolds = 2*MaxClaims + 1", with: "maxHolds = 2 * MaxClaims", pkg: "./engine", run: "TimesEveryTicket"},
	{name: "what is left is told in the tokens of now", file: ticket, find: "d.Remaining = t.limit.tokens(t.left)", with: "d.Remaining = t.limit.e.plan.Load().limits[t.limit.id].tokens(t.left)", pkg: "./engine", run: "ALoneTicket"},
	{name: "a copy of a ticket gives back a stranger's holds", file: ticket, find: "if !r.life.CompareAndSwap(t.word, t.word+1) {", with: "if r.life.Store(t.word + 1); false {", pkg: "./engine", run: "ACopyOfATicket"},
	{name: "a copy of a ticket settles a stranger's estimate", file: ticket, find: "\tif r.life.Load() != t.word {\n\t\treturn nil, 0\n\t}\n", with: "", pkg: "./engine", run: "ACopyOfATicket"},
	{name: "a record that is not needed is lost", file: draftGo, find: "if t.more != nil && !recorded {", with: "if false {", pkg: "./engine", run: "ARecordThatIsNotNeeded"},
	{name: "a record is never used again", file: ticket, find: "\t\te.leaveRecord(e.lane(door>>gateBits), r)\n", with: "", pkg: "./engine", run: "RecordsAreUsedAgain"},
	{name: "who takes a record does not notice that others did", file: recordGo, find: "(head>>32+1)<<32|uint64(r.id+1)", with: "head>>32<<32|uint64(r.id+1)", pkg: "./engine", run: "TheHeadOfTheIdle"},
	{name: "a settlement lets go of its estimate first", file: ticket, find: "func (e *Engine) settle(h *hold, key uint64, actual int64) {\n", with: "func (e *Engine) settle(h *hold, key uint64, actual int64) {\n\tif h.kind == holdEstimate {\n\t\te.table.ReleaseHold(h.slot, uint8(h.word>>56), bucket.Held(h.word))\n\t}\n", pkg: "./engine", tags: "explore", run: "ExploreASettlement"},
	{name: "a fault escapes", file: admit, find: "e.recovered(t, f, p, recover())", with: "_ = e.recovered", pkg: "./engine", run: "Broken|Fault"},
	{name: "a logger's panic escapes", file: "engine/fail.go", find: "e.quietly(func() { e.logger.LogAttrs(context.Background(), level, msg, attrs...) })", with: "e.logger.LogAttrs(context.Background(), level, msg, attrs...)", pkg: "./engine", run: "Panicking"},
	{name: "a lone claim ignores the ladder's level", file: admit, find: "len(claims) == 1 && level == 0 && class", with: "len(claims) == 1 && level == level && class", pkg: "./engine", run: "BothWays"},
	{name: "a lone claim passes the gate by", file: "engine/setmode.go", find: "p.express && !p.gated && !p.cfg.PreciseClock", with: "p.express && !p.cfg.PreciseClock", pkg: "./engine", run: "BothWays"},
	{name: "a lone claim takes a watching limit for an enforced one", file: "engine/setmode.go", find: "l.lone = l.express\n", with: "l.lone = uint64(l.max)\n", pkg: "./engine", run: "DecidedAtOnce"},
	{name: "a lone claim takes any slot for its own", file: admit, find: "if old, ok := s.Read(tag); ok {", with: "if old, _ := s.Read(tag); true {", pkg: "./engine", run: "BothWays"},
	{name: "a lone claim that lost a race is admitted", file: admit, find: "if room >= 0 && s.Change(old, next) {", with: "if s.Change(old, next); room >= 0 {", pkg: "./engine", tags: "explore", run: "ExploreLone"},
	{name: "a closed engine decides lone claims", file: "engine/plan.go", find: "p.limits[i].lone = 0", with: "p.limits[i].lone += 0", pkg: "./engine", run: "LoneClaims|DecidedAtOnce"},
	{name: "a bucket's published time goes back", file: "engine/clock.go", find: "if l.at == nil || l.at.now.Load() >= now {\n\t\treturn\n\t}\n\tl.at.mu.Lock()\n\tdefer l.at.mu.Unlock()\n\tif l.at.now.Load() < now {", with: "if l.at == nil {\n\t\treturn\n\t}\n\tl.at.mu.Lock()\n\tdefer l.at.mu.Unlock()\n\tif l.at.now.Load() != now {", pkg: "./engine", run: "BucketsPublishedTime"},
	{name: "a bucket's published time ends with its ring", file: "engine/clock.go", find: "\t\tl.at.Store(l.rule.SpendAt(now))\n", with: "\t\tl.at.Store(max(l.at.Load(), l.rule.SpendAt(now)))\n", pkg: "./engine", run: "BucketsPublishedTime"},
	{name: "a bucket's published time stands after half a ring", file: "engine/clock.go", find: "\t\tl.at.Store(l.rule.SpendAt(now))\n", with: "\t\tif at := l.rule.SpendAt(now); int64(at-l.at.Load()) > 0 {\n\t\t\tl.at.Store(at)\n\t\t}\n", pkg: "./engine", run: "Standstill"},
	{name: "a late time is not told to the buckets", file: "engine/clock.go", find: "\t\t\t\tt.late(now)\n", with: "", pkg: "./engine", run: "RefusalsPublish|BucketsAreTold"},
	{name: "a new plan keeps the time of the engine's beginning", file: "engine/swap.go", find: "\t\tl.at.Store(fresh.SpendAt(b.now))", with: "l.at.Store(fresh.SpendAt(0))", pkg: "./engine", run: "BucketsAreTold"},
	{name: "a shared claim ignores the ladder's level", file: expressShared, find: "e.level.Load() != 0 ||", with: "false ||", pkg: "./fleet", run: "TheEngineCharges"},
	{name: "a shared claim that is not charged keeps its place", file: expressShared, find: "\t\te.leave(t)\n", with: "", pkg: "./fleet", run: "TheEngineCharges"},
	{name: "a lost race for a shared bucket keeps a place in flight", file: expressShared, find: "bucket.Life(other), o.Cost)", with: "bucket.Life(other), 0)", pkg: "./fleet", run: "ALostRaceForAnEntry"},
	{name: "a shared claim is not counted", file: expressShared, find: "x.Spent(w, 1)", with: "x.Spent(w, 0)", pkg: "./fleet", run: "TheEngineCharges"},
	{name: "the fleet is not told of a shared claim", file: expressShared, find: "x.Link.Load() == 0", with: "x.Link.Load() == 1", pkg: "./fleet", run: "TheEngineCharges"},
	{name: "a watching shared limit is charged as an enforced one", file: expressShared, find: "l.wide != nil && l.mode == Enforce", with: "l.wide != nil", pkg: "./fleet", run: "TheEngineCharges"},
	{name: "a closed shared bucket is charged", file: "bucket/spend.go", find: "if units-1 >= s.burst>>8 {", with: "if units == 0 {", pkg: "./bucket", run: "Units"},
	{name: "an entry is anybody's with half its identity", file: "shard/wide.go", find: "e.H.Load() == k.H && e.P.Load() == k.P &&", with: "e.H.Load() == k.H &&", pkg: "./shard", run: "AnEntry"},
	{name: "the gate comes before the looks", file: admit, find: "if s.refused && s.act == enforce {", with: "if false && s.refused && s.act == enforce {", pkg: "./fuzz", run: "FuzzEngine"},
}
