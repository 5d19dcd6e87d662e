package engine

// Validate returns everything that is wrong with a configuration by itself, as
// [New] would: one error per fault, joined, each naming limit, field and value.
// nil: nothing is.
func (c Config) Validate() error { return validate(c) }
