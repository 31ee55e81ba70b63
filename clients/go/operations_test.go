package onnxplain_test

import (
	"context"
	"errors"
	"testing"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// kept is a server that keeps one operation, which ends at the third wait.
type kept struct {
	*fake
	longrunningpb.UnimplementedOperationsServer

	started *onnxplainv1.StartExplanationRequest
	failure *spb.Status
	waits   int
	reads   int
	partial int
	called  []string
}

func (k *kept) client(t *testing.T) *onnxplain.Client {
	t.Helper()
	server, listener := grpc.NewServer(), bufconn.Listen(1<<20)
	onnxplainv1.RegisterExplanationServiceServer(server, k)
	longrunningpb.RegisterOperationsServer(server, k)
	return connected(t, listener, start(server, listener))
}

func (k *kept) state() *longrunningpb.Operation {
	metadata, err := anypb.New(&onnxplainv1.OperationMetadata{
		State:    onnxplainv1.OperationMetadata_RUNNING,
		Progress: &onnxplainv1.Progress{Done: float64(k.waits), Planned: 3},
	})
	if err != nil {
		panic(err)
	}
	operation := &longrunningpb.Operation{
		Name: "operations/1", Metadata: metadata, Done: k.waits >= 3,
	}
	if operation.Done && k.failure != nil {
		operation.Result = &longrunningpb.Operation_Error{Error: k.failure}
	}
	return operation
}

func (k *kept) StartExplanation(
	_ context.Context, request *onnxplainv1.StartExplanationRequest,
) (*longrunningpb.Operation, error) {
	k.started = request
	return k.state(), nil
}

func (k *kept) ReadExplanation(
	request *onnxplainv1.ReadExplanationRequest,
	stream grpc.ServerStreamingServer[onnxplainv1.ReadExplanationResponse],
) error {
	content, err := proto.Marshal(answer)
	if err != nil {
		return err
	}
	offset := int(request.GetOffset())
	part := &onnxplainv1.ReadExplanationResponse{Content: content[offset:]}
	if offset == 0 {
		part.Content = content[:5]
	}
	if err := stream.Send(part); err != nil || offset > 0 {
		return err
	}
	// The client goes on behind these.
	return refusal(codes.Unavailable, "UNAVAILABLE", "the server is stopping")
}

func (k *kept) ReadPartialExplanations(
	_ *onnxplainv1.ReadPartialExplanationsRequest,
	stream grpc.ServerStreamingServer[onnxplainv1.PartialExplanation],
) error {
	k.reads++
	for index := range k.partial {
		part := &onnxplainv1.PartialExplanation{Index: int32(index), IsFinal: k.reads > 1}
		if err := stream.Send(part); err != nil {
			return err
		}
		if k.reads == 1 {
			return refusal(codes.Unavailable, "UNAVAILABLE", "the server is stopping")
		}
	}
	return nil
}

func (k *kept) GetOperation(
	context.Context, *longrunningpb.GetOperationRequest,
) (*longrunningpb.Operation, error) {
	return k.state(), nil
}

func (k *kept) WaitOperation(
	context.Context, *longrunningpb.WaitOperationRequest,
) (*longrunningpb.Operation, error) {
	k.waits++
	return k.state(), nil
}

func (k *kept) ListOperations(
	_ context.Context, request *longrunningpb.ListOperationsRequest,
) (*longrunningpb.ListOperationsResponse, error) {
	k.called = append(k.called, "list "+request.GetFilter()+request.GetPageToken())
	page := &longrunningpb.ListOperationsResponse{Operations: []*longrunningpb.Operation{k.state()}}
	if request.GetPageToken() == "" {
		page.NextPageToken = " next"
	}
	return page, nil
}

func (k *kept) CancelOperation(
	_ context.Context, request *longrunningpb.CancelOperationRequest,
) (*emptypb.Empty, error) {
	k.called = append(k.called, "cancel "+request.GetName())
	return &emptypb.Empty{}, nil
}

func (k *kept) DeleteOperation(
	_ context.Context, request *longrunningpb.DeleteOperationRequest,
) (*emptypb.Empty, error) {
	k.called = append(k.called, "delete "+request.GetName())
	return &emptypb.Empty{}, nil
}

func TestAnOperationIsStartedAwaitedAndRead(t *testing.T) {
	server := &kept{fake: newFake()}
	client := server.client(t)
	given := &onnxplain.StartOptions{Labels: map[string]string{"team": "risk"}}
	operation, err := client.Start(t.Context(), nil, nil, given, nil, &onnxplainv1.FirmOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var told []float64
	err = operation.Wait(t.Context(), func(done, _ float64) { told = append(told, done) })
	if err != nil || !operation.Done() || len(told) != 3 || told[2] != 3 {
		t.Fatal(err, operation.Done(), told)
	}
	found, err := operation.Result(t.Context())
	if err != nil || !proto.Equal(found, answer) {
		t.Fatal(err, found)
	}
	if server.started.GetLabels()["team"] != "risk" || server.started.GetRequestId() == "" {
		t.Error(server.started)
	}
}

func TestPartsThatBreakOffAreReadAgain(t *testing.T) {
	server := &kept{fake: newFake(), partial: 2}
	operation, err := server.client(t).Operation(t.Context(), "operations/1")
	if err != nil {
		t.Fatal(err)
	}
	found, err := operation.Partials(t.Context())
	if err != nil || len(found) != 2 || server.reads != 2 {
		t.Fatal(err, found, server.reads)
	}
	for i, part := range found {
		if int(part.GetIndex()) != i || !part.GetIsFinal() {
			t.Error(part)
		}
	}
}

func TestAnOperationMayHaveNoParts(t *testing.T) {
	operation, err := (&kept{fake: newFake()}).client(t).Operation(t.Context(), "operations/1")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := operation.Partials(t.Context()); err != nil || len(found) != 0 {
		t.Error(err, found)
	}
}

func TestAnOperationThatFailedHasItsError(t *testing.T) {
	failure := &spb.Status{Code: int32(codes.InvalidArgument), Message: "no x"}
	server := &kept{fake: newFake(), failure: failure, waits: 2}
	operation, err := server.client(t).Operation(t.Context(), "operations/1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = operation.Result(t.Context())
	var told *onnxplain.Error
	if !errors.As(err, &told) || told.Code != codes.InvalidArgument || told.Message != "no x" {
		t.Error(err)
	}
}

func TestOperationsAreListedCancelledAndDeleted(t *testing.T) {
	server := &kept{fake: newFake()}
	for operation, err := range server.client(t).Operations(t.Context(), "done = false") {
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(operation.Cancel(t.Context()), operation.Delete(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"list done = false", "cancel operations/1", "delete operations/1",
		"list done = false next", "cancel operations/1", "delete operations/1",
	}
	if len(server.called) != len(want) {
		t.Fatal(server.called)
	}
	for i, call := range want {
		if server.called[i] != call {
			t.Error(i, server.called[i])
		}
	}
}
