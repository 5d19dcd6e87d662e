package fleettest

import (
	"encoding/binary"
	"math"
)

// Value is a bucket as it is stored: 28 bytes. Times are in microseconds.
type Value struct {
	Arrival  float64 // when what is owed will have drained
	Counted  float64 // when attempts were last counted
	Attempts float64 // remembered then, to 24 bits
	Per      float64 // us per token, to 24 bits
	Age      float64 // for how long attempts were counted then, at most 2^32-1
}

// Unpack reads a stored bucket; ok is false for what is none.
func Unpack(raw []byte) (v Value, ok bool) {
	if len(raw) < 28 {
		return v, false
	}
	long := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(raw[i:])) }
	short := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[i:]))) }
	v = Value{long(0), long(8), short(16), short(20), float64(binary.LittleEndian.Uint32(raw[24:]))}
	return v, v.Arrival > -1e17 && v.Arrival < 1e17 && v.Counted > -1e17 && v.Counted < 1e17 &&
		v.Attempts >= 0 && v.Attempts < 1e15 && v.Per > 0 && v.Per < 1e17
}

// Pack lays a bucket out as it is stored.
func (v Value) Pack() []byte {
	b := pack(v.Arrival, v.Counted)
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v.Attempts)))
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v.Per)))
	return binary.LittleEndian.AppendUint32(b, uint32(v.Age))
}
