package simulation_test

import (
	"testing"

	"github.com/footfall-dev/footfall/transporttest/simulation"
)

func TestSimulation(t *testing.T) { simulation.Run(t, simulation.Options{}) }

func TestSimulationOnTheWire(t *testing.T) {
	simulation.Run(t, simulation.Options{Wire: true, Seeds: 100})
}
