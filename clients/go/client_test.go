package onnxplain_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

var (
	model  = onnxplain.ModelBytes([]byte("a model"))
	table  = onnxplain.TableBytes([]byte("age\n1\n2\n"))
	method = &onnxplainv1.InteractionsOptions{}
)

func explain(client *onnxplain.Client) error {
	_, err := client.Explain(context.Background(), model, table, nil, method)
	return err
}

func stream(client *onnxplain.Client) error {
	for _, err := range client.ExplainStream(context.Background(), model, table, nil, method) {
		if err != nil {
			return err
		}
	}
	return nil
}

func plan(client *onnxplain.Client) error {
	_, err := client.Plan(context.Background(), model, table, nil, method)
	return err
}

func describe(client *onnxplain.Client) error {
	_, err := client.Describe(context.Background(), model)
	return err
}

func uploadModel(client *onnxplain.Client) error {
	_, err := client.UploadModel(context.Background(), model)
	return err
}

func uploadTable(client *onnxplain.Client) error {
	_, err := client.UploadTable(context.Background(), table)
	return err
}

var everyCall = map[string]func(*onnxplain.Client) error{
	"Explain": explain, "ExplainStream": stream, "Plan": plan, "Describe": describe,
	"UploadModel": uploadModel, "UploadTable": uploadTable,
}

func TestEveryMethodOfTheContractIsTaken(t *testing.T) {
	service := newFake()
	client := service.client(t)
	fields := (&onnxplainv1.MethodOptions{}).ProtoReflect().Descriptor().Fields()
	options := []proto.Message{}
	for i := range fields.Len() {
		wrapper := (&onnxplainv1.MethodOptions{}).ProtoReflect()
		options = append(options, wrapper.NewField(fields.Get(i)).Message().Interface())
	}

	if _, err := client.Explain(context.Background(), model, table, nil, options...); err != nil {
		t.Fatal(err)
	}

	for i, asked := range service.requests[0].GetMethods() {
		if !asked.ProtoReflect().Has(fields.Get(i)) {
			t.Errorf("method %d is %v, not %s", i, asked, fields.Get(i).Name())
		}
	}
	if found := len(service.requests[0].GetMethods()); found != fields.Len() {
		t.Errorf("%d methods were asked for, of %d", found, fields.Len())
	}
}

func TestWhatIsNoMethodIsRefusedBeforeAnythingIsSent(t *testing.T) {
	service := newFake()

	for _, wrong := range []proto.Message{&onnxplainv1.Plot{}, nil} {
		_, err := service.client(t).Explain(context.Background(), model, table, nil, wrong)
		if err == nil || !strings.Contains(err.Error(), "methods[0]") {
			t.Errorf("got %v", err)
		}
	}
	if len(service.calls) > 0 {
		t.Errorf("sent %v", service.calls)
	}
}

func TestOptionsStayTheCallersOwn(t *testing.T) {
	service := newFake()
	methods := make([]*onnxplainv1.MethodOptions, 0, 2)
	options := &onnxplainv1.ExplainRequest{TargetColumn: "charges", Methods: methods}
	before := proto.Clone(options)

	if _, err := service.client(t).Explain(context.Background(), model, table, options, method); err != nil {
		t.Fatal(err)
	}

	if !proto.Equal(options, before) || methods[:1][0] != nil {
		t.Errorf("the options became %v", options)
	}
	if sent := service.requests[0]; sent.GetTargetColumn() != "charges" || len(sent.GetMethods()) != 1 {
		t.Errorf("sent %v", sent)
	}
}

func TestAStreamHasProgressAndThenTheAnswer(t *testing.T) {
	client := newFake().client(t)
	found := []*onnxplainv1.ExplainStreamResponse{}

	for event, err := range client.ExplainStream(context.Background(), model, table, nil, method) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, event)
	}

	same := func(a, b *onnxplainv1.ExplainStreamResponse) bool { return proto.Equal(a, b) }
	if !slices.EqualFunc(found, events, same) {
		t.Errorf("got %v", found)
	}
}

func TestAStreamThatBreaksOnTheWayIsNotBegunAgain(t *testing.T) {
	service := newFake()
	service.refuse = func(call string) error {
		if call == "end of ExplainStream" {
			return status.Error(codes.Unavailable, "gone")
		}
		return nil
	}

	err := stream(service.client(t))

	if status.Code(err) != codes.Unavailable || len(service.calls) != 1 {
		t.Errorf("got %v after %v", err, service.calls)
	}
}

func TestAnErrorTellsReasonMessageFieldAndCode(t *testing.T) {
	for name, call := range everyCall {
		t.Run(name, func(t *testing.T) {
			service := newFake()
			service.refuse = failing(1, refusal(
				codes.InvalidArgument, "MISSING_COLUMN", "the table has no column 'age'", at("table"),
			))

			err := call(service.client(t))

			var told *onnxplain.Error
			if !errors.As(err, &told) {
				t.Fatalf("got %v", err)
			}
			if told.Reason != "MISSING_COLUMN" || told.Field != "table" || told.Code != codes.InvalidArgument {
				t.Errorf("got %+v", told)
			}
			if told.Error() != "table: the table has no column 'age' (MISSING_COLUMN)" {
				t.Errorf("reads %q", told)
			}
			if len(service.calls) != 1 {
				t.Errorf("a refusal was asked again: %v", service.calls)
			}
		})
	}
}

func TestADeadlineThatIsOverIsTheContextsError(t *testing.T) {
	service := newFake()
	client := service.client(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()

	_, err := client.Explain(ctx, model, table, nil, method)

	var told *onnxplain.Error
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		!errors.As(err, &told) || told.Reason != "DEADLINE_EXCEEDED" {
		t.Errorf("got %v", err)
	}
}

func TestACallThatIsCancelledIsTheContextsError(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()

	_, err := newFake().client(t).Describe(ctx, model)

	var told *onnxplain.Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &told) || told.Reason != "CANCELLED" {
		t.Errorf("got %v", err)
	}
}

func TestWhereNobodyAnswersTheEndpointIsNamed(t *testing.T) {
	client, err := onnxplain.Connect("127.0.0.1:1", onnxplain.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	err = explain(client)

	if err == nil || !strings.Contains(err.Error(), "no answer from 127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
}

func TestHealthIsTheServersVerdict(t *testing.T) {
	found, err := newFake().client(t).Health(context.Background())

	if found != "SERVING" || err != nil {
		t.Errorf("got %s, %v", found, err)
	}
}
