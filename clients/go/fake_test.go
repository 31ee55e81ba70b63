package onnxplain_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// fake is a service that computes nothing: it answers what it is told to, and
// keeps what it is sent.
type fake struct {
	onnxplainv1.UnimplementedExplanationServiceServer

	// refuse is asked before each call; its error is the answer.
	refuse func(call string) error

	mutex    sync.Mutex
	calls    []string
	requests []*onnxplainv1.ExplainRequest
	kept     map[string]int // the bytes of uploads, by their ids
	parts    []int
	tokens   []string
}

func newFake() *fake {
	return &fake{kept: map[string]int{}}
}

// failing refuses some times, then answers.
func failing(times int, err error) func(string) error {
	return func(string) error {
		if times--; times >= 0 {
			return err
		}
		return nil
	}
}

// refusal is an error as the service makes it.
func refusal(code codes.Code, reason, message string, details ...protoadapt.MessageV1) error {
	info := &errdetails.ErrorInfo{Reason: reason, Domain: "onnxplain"}
	made, err := status.New(code, message).WithDetails(append(details, info)...)
	if err != nil {
		panic(err)
	}
	return made.Err()
}

func at(field string) *errdetails.BadRequest {
	violation := &errdetails.BadRequest_FieldViolation{Field: field}
	return &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{violation}}
}

func after(pause time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(pause)}
}

func (f *fake) note(ctx context.Context, call string) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.calls = append(f.calls, call)
	given, _ := metadata.FromIncomingContext(ctx)
	f.tokens = append(f.tokens, strings.Join(given.Get("authorization"), ","))
	if f.refuse != nil {
		return f.refuse(call)
	}
	return nil
}

// look refuses ids that nobody uploaded.
func (f *fake) look(request *onnxplainv1.ExplainRequest) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.requests = append(f.requests, request)
	for field, id := range map[string]string{
		"model.id": request.GetModel().GetId(), "table.id": request.GetTable().GetId(),
	} {
		if _, found := f.kept[id]; id != "" && !found {
			return refusal(codes.NotFound, "BLOB_NOT_FOUND", "no uploaded file "+id, at(field))
		}
	}
	return nil
}

func (f *fake) Explain(
	ctx context.Context, request *onnxplainv1.ExplainRequest,
) (*onnxplainv1.ExplainResponse, error) {
	if err := f.note(ctx, "Explain"); err != nil {
		return nil, err
	}
	return answer, f.look(request)
}

func (f *fake) ExplainStream(
	request *onnxplainv1.ExplainStreamRequest,
	stream grpc.ServerStreamingServer[onnxplainv1.ExplainStreamResponse],
) error {
	if err := f.note(stream.Context(), "ExplainStream"); err != nil {
		return err
	}
	if err := f.look(request.GetRequest()); err != nil {
		return err
	}
	for _, event := range events {
		if err := stream.Send(event); err != nil {
			return err
		}
	}
	if f.refuse != nil {
		return f.refuse("end of ExplainStream")
	}
	return nil
}

func (f *fake) DescribeModel(
	ctx context.Context, request *onnxplainv1.DescribeModelRequest,
) (*onnxplainv1.DescribeModelResponse, error) {
	if err := f.note(ctx, "DescribeModel"); err != nil {
		return nil, err
	}
	described := &onnxplainv1.DescribeModelResponse{Model: answer.GetModel()}
	return described, f.look(&onnxplainv1.ExplainRequest{Model: request.GetModel()})
}

func (f *fake) PlanExplanation(
	ctx context.Context, request *onnxplainv1.ExplainRequest,
) (*onnxplainv1.ExplanationPlan, error) {
	if err := f.note(ctx, "PlanExplanation"); err != nil {
		return nil, err
	}
	seconds := &onnxplainv1.SecondsInterval{Low: 20, High: 30}
	plan := &onnxplainv1.ExplanationPlan{PredictedRowCount: 90_000, Seconds: seconds}
	return plan, f.look(request)
}

func (f *fake) UploadModel(
	stream grpc.ClientStreamingServer[onnxplainv1.UploadModelRequest, onnxplainv1.UploadModelResponse],
) error {
	if err := f.note(stream.Context(), "UploadModel"); err != nil {
		return err
	}
	id, err := f.keep(func() ([]byte, error) {
		part, err := stream.Recv()
		return part.GetContent(), err
	})
	if err != nil {
		return err
	}
	return stream.SendAndClose(&onnxplainv1.UploadModelResponse{Id: id})
}

func (f *fake) UploadTable(
	stream grpc.ClientStreamingServer[onnxplainv1.UploadTableRequest, onnxplainv1.UploadTableResponse],
) error {
	if err := f.note(stream.Context(), "UploadTable"); err != nil {
		return err
	}
	id, err := f.keep(func() ([]byte, error) {
		part, err := stream.Recv()
		return part.GetContent(), err
	})
	if err != nil {
		return err
	}
	return stream.SendAndClose(&onnxplainv1.UploadTableResponse{Id: id})
}

// keep reads the parts of a file.
func (f *fake) keep(next func() ([]byte, error)) (string, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	digest, size := sha256.New(), 0
	for {
		part, err := next()
		if err == io.EOF {
			id := fmt.Sprintf("sha256:%x", digest.Sum(nil))
			f.kept[id] = size
			return id, nil
		}
		if err != nil {
			return "", err
		}
		digest.Write(part)
		size += len(part)
		f.parts = append(f.parts, len(part))
	}
}

// serve runs the service on a listener until the test is over.
func (f *fake) serve(listener net.Listener) *grpc.Server {
	server := grpc.NewServer()
	onnxplainv1.RegisterExplanationServiceServer(server, f)
	return start(server, listener)
}

// start serves health besides, until the test is over.
func start(server *grpc.Server, listener net.Listener) *grpc.Server {
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() {
		if err := server.Serve(listener); err != nil {
			log.Print(err)
		}
	}()
	return server
}

// client connects to the service in memory.
func (f *fake) client(t *testing.T, options ...onnxplain.Option) *onnxplain.Client {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := f.serve(listener)
	return connected(t, listener, server, options...)
}

// connected connects to a server in memory.
func connected(
	t *testing.T, listener *bufconn.Listener, server *grpc.Server, options ...onnxplain.Option,
) *onnxplain.Client {
	t.Helper()
	t.Cleanup(server.Stop)
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
	options = append(options, onnxplain.WithDialOptions(grpc.WithContextDialer(dial)))
	client, err := onnxplain.Connect("passthrough:///localhost", options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

var answer = &onnxplainv1.ExplainResponse{
	Explanations: []*onnxplainv1.Explanation{{
		Result: &onnxplainv1.Explanation_Interactions{Interactions: &onnxplainv1.InteractionsResult{
			Total: &onnxplainv1.InteractionStatistic{Values: []float64{0.25}},
		}},
		Plots: []*onnxplainv1.Plot{{Name: "overall", VegaLite: `{"mark": "bar"}`}},
	}},
	Model: &onnxplainv1.ModelDescription{OutputNames: []string{"price"}},
}

var events = []*onnxplainv1.ExplainStreamResponse{
	step(0, 10), step(10, 10),
	{Event: &onnxplainv1.ExplainStreamResponse_Response{Response: answer}},
}

func step(done, planned float64) *onnxplainv1.ExplainStreamResponse {
	progress := &onnxplainv1.Progress{Done: done, Planned: planned}
	return &onnxplainv1.ExplainStreamResponse{
		Event: &onnxplainv1.ExplainStreamResponse_Progress{Progress: progress},
	}
}
