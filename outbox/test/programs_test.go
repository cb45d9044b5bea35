package test

const programVar = "FOOTFALL_TEST_OUTBOX"

func runProgram(string) {}
