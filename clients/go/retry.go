package onnxplain

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

const (
	firstPause = 100 * time.Millisecond
	mostPause  = 2 * time.Second
)

// attempts are those at one call, and the pauses between them.
//
// What failed because nobody answered, or because the server had too much to do
// just then, is tried again: explaining changes nothing, so twice is as good as
// once. What the server refused stays refused.
type attempts struct {
	left    int
	longest time.Duration
}

func newAttempts(retries int) *attempts {
	return &attempts{left: retries, longest: firstPause}
}

// pause waits before the next attempt. It returns the error itself where there
// is none: no attempts are left, the same would fail again, or the context's
// time would be over.
//
// Each pause is about twice as long as the one before it, with chance in it, so
// that many clients do not return at the same moment; and no shorter than the
// server asked for.
func (a *attempts) pause(ctx context.Context, err *Error) *Error {
	spread := 0.5 + rand.Float64()/2
	length := err.RetryAfter + time.Duration(spread*float64(a.longest))
	deadline, limited := ctx.Deadline()
	if a.left == 0 || !mayPass(err) || (limited && time.Until(deadline) <= length) {
		return err
	}
	a.left--
	a.longest = min(2*a.longest, mostPause)
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return translate(status.FromContextError(ctx.Err()).Err(), "")
	}
}

// mayPass tells whether the same request may succeed later.
func mayPass(err *Error) bool {
	// Without a time to come back, the latter is a message over the limit, now
	// and always. A quota has room after minutes: the caller decides whether to
	// wait for them.
	return err.Code == codes.Unavailable || wasCut(err) ||
		(err.Code == codes.ResourceExhausted && err.RetryAfter > 0 && err.Reason != "QUOTA_EXCEEDED")
}

// wasCut tells whether a server that closed has ended the call without a word
// of its own. Who cancels a call, or closes the client, is told so in other
// words.
func wasCut(err *Error) bool {
	return err.Code == codes.Canceled && err.Message == "CANCELLED"
}

// persist makes a call until it is answered or there is no use in it.
func persist[Answer any](
	ctx context.Context,
	c *Client,
	attempts *attempts,
	call func(context.Context) (Answer, error),
) (Answer, error) {
	for {
		answer, err := call(ctx)
		if err == nil {
			return answer, nil
		}
		if told := attempts.pause(ctx, c.translate(err)); told != nil {
			return answer, told
		}
	}
}

// deliver makes a call with the parcel's request, and uploads what the server
// has no longer.
func deliver[Answer any](
	ctx context.Context,
	c *Client,
	parcel *parcel,
	call func(context.Context) (Answer, error),
) (Answer, error) {
	attempts := newAttempts(c.settings.retries)
	for {
		answer, err := persist(ctx, c, attempts, call)
		file := parcel.missing(err)
		if file == nil {
			return answer, err
		}
		id, err := c.upload(ctx, file, attempts)
		if err != nil {
			return answer, err
		}
		if len(file.beside) > 0 {
			parcel.request.Model = &onnxplainv1.Model{Source: &onnxplainv1.Model_Id{Id: id}}
		}
	}
}
