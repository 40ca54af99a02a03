package regcase

// What the tests outside of the package use of those inside.
var (
	Compiled = compiled
	Valid    = valid
)
