package main

// byHand is what each public export holds, counted by reading the raw file: spans of model calls (leaves only), calls that a model asked
// for, calls that ran, and so on. Where several spans tell one call, it counts once.
var byHand = map[string]counts{}
