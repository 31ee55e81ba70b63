package onnxplain

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

type (
	event  = onnxplainv1.ExplainStreamResponse
	stream = grpc.ServerStreamingClient[event]
)

// begun is a stream that has sent its first event.
type begun struct {
	stream stream
	first  *event
}

// follow yields the events of a stream. What breaks after the first of them is
// not tried again.
func (c *Client) follow(ctx context.Context, parcel *parcel, yield func(*event, error) bool) {
	begun, err := deliver(ctx, c, parcel, func(ctx context.Context) (*begun, error) {
		return c.begin(ctx, parcel.request)
	})
	if err != nil {
		yield(nil, err)
		return
	}
	next, answered := begun.first, false
	for yield(next, nil) {
		answered = answered || next.GetResponse() != nil
		if next, err = begun.stream.Recv(); err != nil {
			break
		}
	}
	if ended := errors.Is(err, io.EOF); err != nil && !(ended && answered) {
		yield(nil, c.translate(whole(err)))
	}
}

// begin makes the call and waits for the first event, which tells whether the
// request was taken.
func (c *Client) begin(ctx context.Context, request *onnxplainv1.ExplainRequest) (*begun, error) {
	stream, err := c.service.ExplainStream(ctx, &onnxplainv1.ExplainStreamRequest{Request: request})
	if err != nil {
		return nil, err
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, whole(err)
	}
	return &begun{stream, first}, nil
}

// whole makes an error of the end of a stream where an event was due.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return errNoAnswer
	}
	return err
}
