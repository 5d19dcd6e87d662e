package series

import "github.com/weir-go/weir/engine"

// Figure is a metric without labels.
type Figure struct {
	Prometheus string // name behind the prefix "weir_"
	OTel       string // name behind the prefix "weir."
	Unit       string // UCUM, as OpenTelemetry wants it
	About      string
	Counter    bool // only grows
	// Value reads it; false is no value now.
	Value func(*engine.Snapshot) (float64, bool)
}

// Figures are all metrics without labels.
var Figures = []Figure{
	{"unclassified_total", "unclassified", "{request}", "Requests that came without a class and counted as the default one.", true,
		func(s *engine.Snapshot) (float64, bool) { return float64(s.Unclassified), true }},
	{"unguarded_seconds_total", "unguarded", "s", "Time during which a fault of the limiter's own let requests pass or refused them.", true,
		func(s *engine.Snapshot) (float64, bool) { return s.Unguarded.Seconds(), true }},
	{"faults_total", "faults", "{fault}", "Panics inside the limiter, or in what it was given to call.", true,
		func(s *engine.Snapshot) (float64, bool) { return float64(s.Faults), true }},

	{"capacity", "inflight.capacity", "{request}", "Requests in flight that the process can work on; 0 is no limit.", false,
		func(s *engine.Snapshot) (float64, bool) { return float64(s.Gate.Capacity), true }},
	{"allocation", "inflight.allocation", "{request}", "Requests in flight that may be of a class below critical.", false,
		func(s *engine.Snapshot) (float64, bool) { return float64(s.Gate.Allocation), true }},

	{"ladder_level", "ladder.level", "{class}", "What the ladder sheds, in classes: 1.4 is all test traffic and 40 % of the reads.", false,
		func(s *engine.Snapshot) (float64, bool) { return s.Ladder.Level, true }},
	{"ladder_exhausted", "ladder.exhausted", "1", "1 while the ladder sheds all it may and its signal is still bad.", false,
		func(s *engine.Snapshot) (float64, bool) { return flag(s.Ladder.Exhausted), true }},
	{"ladder_reading_ratio", "ladder.reading", "1", "The last reading of the ladder's signal; 1 is every worker busy.", false,
		func(s *engine.Snapshot) (float64, bool) { return s.Ladder.Reading, s.Ladder.ReadingAge >= 0 }},
	{"ladder_reading_age_seconds", "ladder.reading.age", "s", "Age of the last reading of the ladder's signal.", false,
		func(s *engine.Snapshot) (float64, bool) {
			return s.Ladder.ReadingAge.Seconds(), s.Ladder.ReadingAge >= 0
		}},

	{"entries", "entries.usage", "{entry}", "States of a limit and a key in the key table.", false,
		func(s *engine.Snapshot) (float64, bool) { return float64(s.Table.Entries), true }},
	{"max_entries", "entries.limit", "{entry}", "States of a limit and a key that fit in the key table.", false,
		func(s *engine.Snapshot) (float64, bool) { return float64(s.Table.MaxEntries), true }},
	{"table_bytes", "table.size", "By", "Memory of the key table.", false,
		func(s *engine.Snapshot) (float64, bool) { return float64(s.Table.Bytes), true }},

	{"fleet_instances", "fleet.instances", "{instance}", "Instances that share limits, as last heard.", false,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Instances) })},
	{"fleet_sync_age_seconds", "fleet.sync.age", "s", "Time since the oldest shard's last acknowledged exchange.", false,
		func(s *engine.Snapshot) (float64, bool) {
			return s.Fleet.SyncAge.Seconds(), s.Fleet.On && s.Fleet.SyncAge >= 0
		}},
	{"fleet_shards_down", "fleet.shards.down", "{shard}", "Shards of the store that are cut off.", false,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Down) })},
	{"fleet_down_seconds_total", "fleet.down", "s", "Time for which shards were cut off, summed over them.", true,
		fleet(func(f *engine.FleetSnapshot) float64 { return f.DownTime.Seconds() })},
	{"fleet_keys", "fleet.keys", "{key}", "States in the table of shared keys.", false,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Keys) })},
	{"fleet_share_ratio", "fleet.share", "1", "Mean share of a limit that this instance uses, over the keys shared lately.", false,
		fleet(func(f *engine.FleetSnapshot) float64 { return f.Share })},
	{"fleet_debt_tokens", "fleet.debt", "{token}", "Tokens owed above their limits, over the keys shared lately.", false,
		fleet(func(f *engine.FleetSnapshot) float64 { return f.Debt })},
	{"fleet_pending_tokens", "fleet.pending", "{token}", "Tokens admitted and not yet acknowledged by the store.", false,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Pending) })},
	{"fleet_batches_acked_total", "fleet.batches.acked", "{batch}", "Batches that the store acknowledged.", true,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Acked) })},
	{"fleet_batches_resent_total", "fleet.batches.resent", "{batch}", "Batches sent again with the same number.", true,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Resent) })},
	{"fleet_batches_duplicate_total", "fleet.batches.duplicate", "{batch}", "Batches that the store had executed before.", true,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Duplicates) })},
	{"fleet_lost_keys_total", "fleet.keys.lost", "{key}", "Keys whose history the store had lost.", true,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Lost) })},
	{"fleet_deferred_keys_total", "fleet.keys.deferred", "{key}", "Keys left for a later exchange.", true,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Deferred) })},
	{"fleet_errors_total", "fleet.errors", "{call}", "Calls of the store that failed.", true,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Errors) })},
	{"fleet_restarts_total", "fleet.restarts", "{restart}", "Restarts of the exchange after a fault of its own.", true,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Restarts) })},
	{"fleet_capacity", "fleet.capacity", "{request}", "Requests in flight that the fleet can work on.", false,
		fleet(func(f *engine.FleetSnapshot) float64 { return f.Capacity })},
	{"fleet_quota", "fleet.quota", "{request}", "Requests below critical that this instance may hold.", false,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Quota) })},
	{"fleet_excess", "fleet.excess", "{request}", "Estimate of the requests below critical in flight above the fleet's allocation.", false,
		fleet(func(f *engine.FleetSnapshot) float64 { return float64(f.Excess) })},
	{"fleet_lease_valid", "fleet.lease.valid", "1", "1 while this instance holds a valid lease of the reservation.", false,
		fleet(func(f *engine.FleetSnapshot) float64 { return flag(f.LeaseValid) })},
}

// fleet reads a figure that exists only when limits are shared.
func fleet(read func(*engine.FleetSnapshot) float64) func(*engine.Snapshot) (float64, bool) {
	return func(s *engine.Snapshot) (float64, bool) { return read(&s.Fleet), s.Fleet.On }
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
