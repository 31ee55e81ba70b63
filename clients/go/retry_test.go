package onnxplain_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
)

var (
	gone = status.Error(codes.Unavailable, "gone")
	cut  = status.Error(codes.Canceled, "CANCELLED")
	full = refusal(codes.ResourceExhausted, "OVERLOADED", "too much to do", after(time.Millisecond))
)

func TestAServerThatIsBeingReplacedOrFullIsAskedAgain(t *testing.T) {
	for name, call := range everyCall {
		for kind, err := range map[string]error{"gone": gone, "cut": cut, "full": full} {
			t.Run(name+" "+kind, func(t *testing.T) {
				service := newFake()
				service.refuse = failing(2, err)

				if err := call(service.client(t)); err != nil || len(service.calls) != 3 {
					t.Errorf("got %v after %v", err, service.calls)
				}
			})
		}
	}
}

func TestThereAreNoMoreRetriesThanWereGiven(t *testing.T) {
	for retries := range 3 {
		service := newFake()
		service.refuse = failing(9, gone)

		err := explain(service.client(t, onnxplain.WithRetries(retries)))

		if status.Code(err) != codes.Unavailable || len(service.calls) != retries+1 {
			t.Errorf("with %d retries got %v after %v", retries, err, service.calls)
		}
	}
}

func TestWhatIsTooMuchForEverIsNotAskedAgain(t *testing.T) {
	service := newFake()
	service.refuse = failing(9, refusal(codes.ResourceExhausted, "TOO_MANY_ROWS", "too many rows"))

	if err := explain(service.client(t)); err == nil || len(service.calls) != 1 {
		t.Errorf("got %v after %v", err, service.calls)
	}
}

func TestAPauseIsNoShorterThanTheServerAsksFor(t *testing.T) {
	service := newFake()
	pause := 300 * time.Millisecond
	service.refuse = failing(1, refusal(codes.ResourceExhausted, "OVERLOADED", "later", after(pause)))
	client := service.client(t)
	begun := time.Now()

	if err := explain(client); err != nil {
		t.Fatal(err)
	}

	if time.Since(begun) < pause {
		t.Errorf("asked again after %s", time.Since(begun))
	}
}

func TestThereIsNoPauseBeyondTheDeadline(t *testing.T) {
	service := newFake()
	service.refuse = failing(9, refusal(codes.ResourceExhausted, "OVERLOADED", "later", after(time.Hour)))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	_, err := service.client(t).Explain(ctx, model, table, nil, method)

	var told *onnxplain.Error
	if !errors.As(err, &told) || told.Reason != "OVERLOADED" || told.RetryAfter != time.Hour {
		t.Errorf("got %v", err)
	}
}

func TestAQuotaIsNotWaitedFor(t *testing.T) {
	service := newFake()
	service.refuse = failing(1, refusal(codes.ResourceExhausted, "QUOTA_EXCEEDED", "later", after(time.Hour)))

	_, err := service.client(t).Explain(context.Background(), model, table, nil, method)

	var told *onnxplain.Error
	if !errors.As(err, &told) || told.Reason != "QUOTA_EXCEEDED" || told.RetryAfter != time.Hour {
		t.Errorf("got %v", err)
	}
}

func TestWhoLeavesInAPauseIsNotHeldUp(t *testing.T) {
	service := newFake()
	service.refuse = failing(9, refusal(codes.ResourceExhausted, "OVERLOADED", "later", after(time.Hour)))
	client := service.client(t)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)

	_, err := client.Explain(ctx, model, table, nil, method)

	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
