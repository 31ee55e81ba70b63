package onnxplain

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"iter"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// The wait of one call, after which progress is told; and the pause after one
// that the server ended at once.
const (
	waitStep  = time.Second
	waitPause = 200 * time.Millisecond
)

// An Operation is an explanation that a server computes and keeps, as it was when
// last asked for. It may not be used by several goroutines at a time.
type Operation struct {
	// Metadata is all that the server tells about it: state, progress, times.
	Metadata *onnxplainv1.OperationMetadata

	client  *Client
	message *longrunningpb.Operation
}

// StartOptions are those of [Client.Start] beside the request; nil for none.
type StartOptions struct {
	// RequestID names the request: an equal one with the same name starts
	// nothing new. Where it is empty, a random one makes repetitions safe.
	RequestID string

	// Labels are for the filter of [Client.Operations].
	Labels map[string]string
}

// Start has the server compute and keep an explanation; see [Client.Explain] for
// the arguments. A server without Redis refuses with OPERATIONS_DISABLED.
func (c *Client) Start(
	ctx context.Context,
	model Model,
	table Table,
	start *StartOptions,
	options *onnxplainv1.ExplainRequest,
	methods ...proto.Message,
) (*Operation, error) {
	parcel, err := c.pack(model, table, options, methods)
	if err != nil {
		return nil, err
	}
	request := &onnxplainv1.StartExplanationRequest{RequestId: rand.Text()}
	if start != nil {
		request.Labels = start.Labels
		if start.RequestID != "" {
			request.RequestId = start.RequestID
		}
	}
	message, err := deliver(ctx, c, parcel,
		func(ctx context.Context) (*longrunningpb.Operation, error) {
			request.Request = parcel.request
			return c.service.StartExplanation(ctx, request)
		})
	if err != nil {
		return nil, err
	}
	return c.operation(message)
}

// Operation returns the operation of this name.
func (c *Client) Operation(ctx context.Context, name string) (*Operation, error) {
	message, err := persist(ctx, c, newAttempts(c.settings.retries),
		func(ctx context.Context) (*longrunningpb.Operation, error) {
			return c.operations().GetOperation(ctx, &longrunningpb.GetOperationRequest{Name: name})
		})
	if err != nil {
		return nil, err
	}
	return c.operation(message)
}

// Operations yields the caller's operations, newest first, page by page. The
// filter is like `done = false AND labels.team = "risk"`, or empty. An error ends
// the loop, with a nil operation.
func (c *Client) Operations(ctx context.Context, filter string) iter.Seq2[*Operation, error] {
	return func(yield func(*Operation, error) bool) {
		request := &longrunningpb.ListOperationsRequest{Name: "operations", Filter: filter}
		for {
			page, err := persist(ctx, c, newAttempts(c.settings.retries),
				func(ctx context.Context) (*longrunningpb.ListOperationsResponse, error) {
					return c.operations().ListOperations(ctx, request)
				})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, message := range page.GetOperations() {
				operation, err := c.operation(message)
				if !yield(operation, err) || err != nil {
					return
				}
			}
			if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
				return
			}
		}
	}
}

// Name is what [Client.Operation] finds it by.
func (o *Operation) Name() string { return o.message.GetName() }

// Done tells whether it has ended.
func (o *Operation) Done() bool { return o.message.GetDone() }

// Wait returns after the end of the operation, and then the error of one that
// failed or was cancelled. Progress, which may be nil, is called about once a
// second with the rows done and planned.
func (o *Operation) Wait(ctx context.Context, progress func(done, planned float64)) error {
	for {
		start := time.Now()
		message, err := persist(ctx, o.client, newAttempts(o.client.settings.retries),
			func(ctx context.Context) (*longrunningpb.Operation, error) {
				return o.client.operations().WaitOperation(ctx, &longrunningpb.WaitOperationRequest{
					Name: o.Name(), Timeout: durationpb.New(waitStep),
				})
			})
		if err != nil {
			return err
		}
		if err := o.take(message); err != nil {
			return err
		}
		told := o.Metadata.GetProgress()
		if progress != nil && told.GetPlanned() > 0 {
			progress(told.GetDone(), told.GetPlanned())
		}
		if o.Done() {
			return o.failure()
		}
		if time.Since(start) < waitStep {
			time.Sleep(waitPause)
		}
	}
}

// Result waits for the end, and returns the answer, however large.
func (o *Operation) Result(ctx context.Context) (*onnxplainv1.ExplainResponse, error) {
	if err := o.Wait(ctx, nil); err != nil {
		return nil, err
	}
	var content []byte
	_, err := persist(ctx, o.client, newAttempts(o.client.settings.retries),
		func(ctx context.Context) (struct{}, error) {
			return struct{}{}, o.read(ctx, &content)
		})
	if err != nil {
		return nil, err
	}
	answer := &onnxplainv1.ExplainResponse{}
	return answer, proto.Unmarshal(content, answer)
}

// Partials returns what is finished so far, where the request is partial: the
// latest of each method, in their order. There is none where the request is not
// partial, or nothing is finished yet.
func (o *Operation) Partials(ctx context.Context) ([]*onnxplainv1.PartialExplanation, error) {
	return persist(ctx, o.client, newAttempts(o.client.settings.retries),
		func(ctx context.Context) ([]*onnxplainv1.PartialExplanation, error) {
			request := &onnxplainv1.ReadPartialExplanationsRequest{Name: o.Name()}
			stream, err := o.client.service.ReadPartialExplanations(ctx, request)
			if err != nil {
				return nil, err
			}
			return all(stream)
		})
}

// Cancel asks the server to end it; nothing happens if it has ended.
func (o *Operation) Cancel(ctx context.Context) error {
	_, err := persist(ctx, o.client, newAttempts(o.client.settings.retries),
		func(ctx context.Context) (proto.Message, error) {
			request := &longrunningpb.CancelOperationRequest{Name: o.Name()}
			return o.client.operations().CancelOperation(ctx, request)
		})
	return err
}

// Delete has the server forget it with its answer, and end it if it runs.
func (o *Operation) Delete(ctx context.Context) error {
	_, err := persist(ctx, o.client, newAttempts(o.client.settings.retries),
		func(ctx context.Context) (proto.Message, error) {
			request := &longrunningpb.DeleteOperationRequest{Name: o.Name()}
			return o.client.operations().DeleteOperation(ctx, request)
		})
	return err
}

// read appends the parts of the answer behind those that came before a failure.
func (o *Operation) read(ctx context.Context, content *[]byte) error {
	stream, err := o.client.service.ReadExplanation(ctx, &onnxplainv1.ReadExplanationRequest{
		Name: o.Name(), Offset: float64(len(*content)),
	})
	for err == nil {
		var part *onnxplainv1.ReadExplanationResponse
		if part, err = stream.Recv(); err == nil {
			*content = append(*content, part.GetContent()...)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// all receives the messages of a stream, of which there may be none.
func all[Message any](stream grpc.ServerStreamingClient[Message]) ([]*Message, error) {
	found := []*Message{}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		found = append(found, message)
	}
}

// failure returns the error of an operation that has one.
func (o *Operation) failure() error {
	if o.message.GetError() == nil {
		return nil
	}
	return o.client.translate(status.ErrorProto(o.message.GetError()))
}

func (o *Operation) take(message *longrunningpb.Operation) error {
	o.message, o.Metadata = message, &onnxplainv1.OperationMetadata{}
	return message.GetMetadata().UnmarshalTo(o.Metadata)
}

func (c *Client) operation(message *longrunningpb.Operation) (*Operation, error) {
	operation := &Operation{client: c}
	return operation, operation.take(message)
}

func (c *Client) operations() longrunningpb.OperationsClient {
	return longrunningpb.NewOperationsClient(c.connection)
}
