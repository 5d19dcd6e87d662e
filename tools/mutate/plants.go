package main

// plants are the planted faults. Each takes away one thing that the protocol
// of the key table, the words or the gate needs.
var plants = []plant{}
