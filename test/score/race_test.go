//go:build race

package main

// raced: nothing here runs at the same time, so that the race detector would only make long runs longer.
const raced = true
