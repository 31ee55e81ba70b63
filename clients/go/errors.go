package onnxplain

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An Error is a call that ended without an answer, whoever ended it. Find it by
// [errors.As]. [errors.Is] tells context.DeadlineExceeded and context.Canceled,
// and [status.FromError] gives gRPC's own status.
type Error struct {
	// Reason is what to act upon, like "MISSING_COLUMN": the server's
	// vocabulary. Where the call never reached the service, or was ended on the
	// way, it is the name of the code.
	Reason string

	// Message is for people: which input, which rule, what to do.
	Message string

	// Field is the path of the request's field, like
	// "methods[0].interactions.features"; it may be empty.
	Field string

	// Code is gRPC's; Unavailable where nobody answered.
	Code codes.Code

	// RetryAfter is after how long the same may succeed, as the server says; 0
	// where it does not.
	RetryAfter time.Duration

	cause error
}

var errNoAnswer = status.Error(codes.Internal, "the stream ended without an answer")

// Error returns the field if there is one, the message, and the reason.
func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s (%s)", e.Message, e.Reason)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Field, e.Message, e.Reason)
}

// Unwrap returns the error as gRPC has it.
func (e *Error) Unwrap() error {
	return e.cause
}

// Is tells whether the call ended because its context did.
func (e *Error) Is(target error) bool {
	switch target {
	case context.DeadlineExceeded:
		return e.Code == codes.DeadlineExceeded
	case context.Canceled:
		return e.Code == codes.Canceled
	}
	return false
}

func (c *Client) translate(err error) *Error {
	return translate(err, c.settings.endpoint)
}

// translate turns what grpc returns into an Error; nowhere else is that done.
func translate(err error, endpoint string) *Error {
	found := status.Convert(err)
	told := &Error{Message: found.Message(), Code: found.Code(), cause: err}
	for _, detail := range found.Details() {
		told.add(detail)
	}
	if told.Message == "" {
		told.Message = "the call ended without a message"
	}
	if told.Reason == "" && told.Code == codes.Unavailable {
		told.Message = fmt.Sprintf("no answer from %s: %s; check that a server listens there",
			endpoint, told.Message)
	}
	if told.Reason == "" {
		told.Reason = code.Code(told.Code).String()
	}
	return told
}

// add takes what one detail of the status says. A detail that a proxy has
// mangled is an error here, and says nothing.
func (e *Error) add(detail any) {
	switch detail := detail.(type) {
	case *errdetails.ErrorInfo:
		e.Reason = detail.GetReason()
	case *errdetails.BadRequest:
		if violations := detail.GetFieldViolations(); len(violations) > 0 {
			e.Field = violations[0].GetField()
		}
	case *errdetails.RetryInfo:
		e.RetryAfter = detail.GetRetryDelay().AsDuration()
	}
}
