package senders

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestInterruptionCallsTheLastFunctionOnce(t *testing.T) {
	var i Interruption
	first, last := 0, 0
	i.Begin()
	assert.True(t, i.On(func() { first++ }))
	assert.True(t, i.On(func() { last++ }))
	i.Interrupter()()
	assert.False(t, i.On(func() { last++ }), "it has happened")
	assert.Equal(t, []int{0, 1}, []int{first, last})
	assert.True(t, i.End())
}

func TestInterruptionOfAnEarlierAttemptDoesNothing(t *testing.T) {
	var i Interruption
	i.Begin()
	interrupt := i.Interrupter()
	assert.False(t, i.End())
	i.Begin()
	assert.True(t, i.On(func() { t.Error("another attempt is interrupted") }))
	interrupt()
	assert.False(t, i.End())
}

func TestInterruptionCallsNothingBetweenAttempts(t *testing.T) {
	var i Interruption
	i.Begin()
	interrupt := i.Interrupter()
	i.On(func() { t.Error("the attempt has ended") })
	i.End()
	interrupt()
}

func TestInterruptionSurvivesAPanic(t *testing.T) {
	var i Interruption
	i.Begin()
	i.On(func() { panic("in a Poster") })
	i.Interrupter()()
	assert.True(t, i.End())
	i.Begin()
	assert.True(t, i.On(nil))
}
