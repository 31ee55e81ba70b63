package onnxplain

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// A Client explains models. It may be used by several goroutines at a time.
type Client struct {
	connection *grpc.ClientConn
	service    onnxplainv1.ExplanationServiceClient
	settings   settings
}

// Connect makes a client of the server at endpoint, like "localhost:8081".
// Nothing is sent yet: a server that is missing shows at the first call.
//
// An error tells of options that do not fit, files that cannot be read, and
// tokens that would go over the network for everybody to read.
func Connect(endpoint string, options ...Option) (*Client, error) {
	settings, err := settingsOf(endpoint, options)
	if err != nil {
		return nil, fmt.Errorf("onnxplain: %w", err)
	}
	connection, err := grpc.NewClient(endpoint, settings.dialOptions()...)
	if err != nil {
		return nil, fmt.Errorf("onnxplain: %w", err)
	}
	service := onnxplainv1.NewExplanationServiceClient(connection)
	return &Client{connection, service, settings}, nil
}

// Close lets go of the connection; running calls end.
func (c *Client) Close() error {
	return c.connection.Close()
}

// Service returns the generated client, for calls without anything around them.
// It uses the same connection and token.
func (c *Client) Service() onnxplainv1.ExplanationServiceClient {
	return c.service
}

// Explain explains a model on the rows of a table.
//
// The methods are options of the contract, like *onnxplainv1.SwarmOptions; their
// explanations come in the same order. All else about the request, like its
// target column, is in options, which may be nil; so may be the model and the
// table, where options name them or the methods need none.
func (c *Client) Explain(
	ctx context.Context,
	model Model,
	table Table,
	options *onnxplainv1.ExplainRequest,
	methods ...proto.Message,
) (*onnxplainv1.ExplainResponse, error) {
	parcel, err := c.pack(model, table, options, methods)
	if err != nil {
		return nil, err
	}
	return deliver(ctx, c, parcel,
		func(ctx context.Context) (*onnxplainv1.ExplainResponse, error) {
			return c.service.Explain(ctx, parcel.request)
		})
}

// ExplainStream explains like [Client.Explain], with progress on the way. The
// last event is the answer. An error ends the loop, with a nil event. Leaving
// the loop early cancels the computation.
func (c *Client) ExplainStream(
	ctx context.Context,
	model Model,
	table Table,
	options *onnxplainv1.ExplainRequest,
	methods ...proto.Message,
) iter.Seq2[*onnxplainv1.ExplainStreamResponse, error] {
	return func(yield func(*onnxplainv1.ExplainStreamResponse, error) bool) {
		parcel, err := c.pack(model, table, options, methods)
		if err != nil {
			yield(nil, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		c.follow(ctx, parcel, yield)
	}
}

// Plan tells what an explanation would take, without computing it: rows to
// predict, seconds, memory, size of the answer, and cheaper options; see
// [Client.Explain] for the arguments.
func (c *Client) Plan(
	ctx context.Context,
	model Model,
	table Table,
	options *onnxplainv1.ExplainRequest,
	methods ...proto.Message,
) (*onnxplainv1.ExplanationPlan, error) {
	parcel, err := c.pack(model, table, options, methods)
	if err != nil {
		return nil, err
	}
	return deliver(ctx, c, parcel,
		func(ctx context.Context) (*onnxplainv1.ExplanationPlan, error) {
			return c.service.PlanExplanation(ctx, parcel.request)
		})
}

// Describe tells what a model takes and gives.
func (c *Client) Describe(ctx context.Context, model Model) (*onnxplainv1.ModelDescription, error) {
	if model == nil {
		return nil, errors.New("onnxplain: no model to describe")
	}
	parcel, err := c.pack(model, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	answer, err := deliver(ctx, c, parcel,
		func(ctx context.Context) (*onnxplainv1.DescribeModelResponse, error) {
			request := &onnxplainv1.DescribeModelRequest{Model: parcel.request.GetModel()}
			return c.service.DescribeModel(ctx, request)
		})
	return answer.GetModel(), err
}

// Health returns the server's own verdict: "SERVING", or "NOT_SERVING" while it
// stops. It asks once, since it asks about this moment.
func (c *Client) Health(ctx context.Context) (string, error) {
	request := &grpc_health_v1.HealthCheckRequest{}
	answer, err := grpc_health_v1.NewHealthClient(c.connection).Check(ctx, request)
	if err != nil {
		return "", c.translate(err)
	}
	return answer.GetStatus().String(), nil
}
