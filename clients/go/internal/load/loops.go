package main

import (
	"sync"
	"time"
)

// ask makes one call, the so manyeth, and returns its gRPC code or HTTP status.
type ask func(number int) string

// outcome is what became of one call.
type outcome struct {
	Code string `json:"code"`
	// Begun is when it was sent, in seconds after the first; in an open loop
	// it tells whether the generator kept its rate.
	Begun float64 `json:"begun"`
	// Seconds is how long it took from then.
	Seconds float64 `json:"seconds"`
}

// record keeps outcomes of calls that run side by side.
type record struct {
	begun time.Time

	mutex    sync.Mutex
	outcomes []outcome
}

func (r *record) call(ask ask, number int) {
	begun := time.Now()
	code := ask(number)
	found := outcome{code, begun.Sub(r.begun).Seconds(), time.Since(begun).Seconds()}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.outcomes = append(r.outcomes, found)
}

// closedLoop has callers ask, each again as soon as it has its answer.
func closedLoop(ask ask, callers int, length time.Duration) []outcome {
	var running sync.WaitGroup
	kept := record{begun: time.Now()}
	for caller := range callers {
		running.Go(func() {
			for number := caller; time.Since(kept.begun) < length; number += callers {
				kept.call(ask, number)
			}
		})
	}
	running.Wait()
	return kept.outcomes
}

// openLoop asks so many times per second, whatever is answered, and waits for
// all answers.
func openLoop(ask ask, rate float64, length time.Duration) []outcome {
	var running sync.WaitGroup
	kept := record{begun: time.Now()}
	count := int(rate*length.Seconds() + 0.5)
	for number := range count {
		due := time.Duration(float64(number) / rate * float64(time.Second))
		time.Sleep(due - time.Since(kept.begun))
		running.Go(func() { kept.call(ask, number) })
	}
	running.Wait()
	return kept.outcomes
}
