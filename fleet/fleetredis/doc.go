// Package fleetredis carries a fleet's exchanges over Redis, Redis Cluster or
// Valkey.
//
//	weir1v16:{tag}:r:<limit>:<identity>           a bucket             string, 28 bytes
//	weir1v16:{tag}:q:<limit>:<identity>:<window>  a quota's window     string, 24 bytes
//	weir1v16:{tag}:c:<limit>:<identity>           who holds places     string, 32 bytes a holder
//	weir1v16:{tag}:p:<limit>:<identity>           the same, strict     string, 32 bytes a holder
//	weir1v16:{tag}:s:<instance>                   last batch executed  string, 8 bytes and up
//	weir1:{f<group>}:fleet                        the reservation      hash, a record per instance
//
// 1 is the version of these layouts and 16 the number of shards: instances that
// differ in either share nothing, and are told so. The tag of a shard puts all
// that one batch touches into one slot, and the tags are chosen so that the
// shards are spread evenly over the slots. The identity is 32 hex digits; no
// text of a key reaches Redis. Every key has a time to live.
//
// Each exchange is one EVALSHA per shard, all of them in one pipeline, with
// EVAL once where a server has lost the script. The scripts need the right to
// EVALSHA, EVAL and SCRIPT LOAD and to TIME, MGET, SET, DEL, TYPE, HGETALL,
// HSET, HDEL and PEXPIRE on keys of the prefix; they run on Redis 5 and later.
package fleetredis
