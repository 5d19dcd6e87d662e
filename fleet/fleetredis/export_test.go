package fleetredis

import "github.com/weir-go/weir/fleet"

// Tags, and the names of what lies in Redis, for tests that look there.
var Tags = tagsFor

func (t *Transport) KeyName(shard int, it *fleet.Item) string { return t.keyName(shard, it) }

func (t *Transport) SeqName(shard int, boot fleet.Boot) string { return t.seqName(shard, boot) }

func (t *Transport) GroupName(group string) string { return t.groupName(group) }
