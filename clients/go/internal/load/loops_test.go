package main

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestAClosedLoopHasAsManyCallsAtATimeAsCallers(t *testing.T) {
	var running, most, calls atomic.Int32
	outcomes := closedLoop(func(int) string {
		now := running.Add(1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		calls.Add(1)
		time.Sleep(time.Millisecond)
		running.Add(-1)
		return "OK"
	}, 3, 200*time.Millisecond)

	if most.Load() > 3 || len(outcomes) != int(calls.Load()) || len(outcomes) < 3 {
		t.Errorf("%d calls at a time, %d outcomes of %d", most.Load(), len(outcomes), calls.Load())
	}
}

func TestAnOpenLoopWaitsForNoAnswerBeforeItAsksAgain(t *testing.T) {
	const count = 20
	var begun atomic.Int32
	all := make(chan struct{})
	outcomes := openLoop(func(int) string {
		if begun.Add(1) == count {
			close(all)
		}
		<-all // which comes only where nobody waits for an answer
		return "OK"
	}, 100, count*time.Second/100)

	if len(outcomes) != count {
		t.Errorf("%d outcomes", len(outcomes))
	}
}

func TestAnOpenLoopAsksNoEarlierThanItsRateSays(t *testing.T) {
	outcomes := openLoop(func(int) string { return "OK" }, 100, 100*time.Millisecond)

	last := 0.0
	for _, found := range outcomes {
		last = max(last, found.Begun)
	}
	if len(outcomes) != 10 || last < 0.09 {
		t.Errorf("the last of %d began after %v s", len(outcomes), last)
	}
}
