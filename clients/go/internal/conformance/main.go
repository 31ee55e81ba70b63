// Command conformance asks the cases of tests/conformance by the Go client; its
// README says what is read and written.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// question is a case, and where its paths begin.
type question struct {
	Call               string
	Model              string
	Table              string
	Columns            json.RawMessage
	Request            json.RawMessage
	TimeoutSeconds     float64 `json:"timeout_seconds"`
	CancelAfterSeconds float64 `json:"cancel_after_seconds"`

	// Of operations: see clients/tests/README.md.
	RequestID    string `json:"request_id"`
	Labels       map[string]string
	Filter       string
	CancelAtOnce bool `json:"cancel_at_once"`

	root string
}

type answer map[string]any

func main() {
	log.SetFlags(0)
	root, out := os.Args[1], os.Args[2]
	client, err := connect()
	check(err)
	defer client.Close()
	for _, name := range os.Args[3:] {
		path := filepath.Join(root, "conformance", "cases", name+".json")
		content, err := os.ReadFile(path)
		check(err)
		asked := question{root: root}
		check(json.Unmarshal(content, &asked))
		found, err := json.Marshal(asked.put(client))
		check(err)
		check(os.WriteFile(filepath.Join(out, name+".json"), found, 0o600))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// connect follows the environment.
func connect() (*onnxplain.Client, error) {
	options := []onnxplain.Option{}
	if token := os.Getenv("ONNXPLAIN_TOKEN"); token != "" {
		options = append(options, onnxplain.WithToken(token))
	}
	if file := os.Getenv("ONNXPLAIN_CA_FILE"); file != "" {
		options = append(options, onnxplain.WithCAFile(file))
	}
	if file := os.Getenv("ONNXPLAIN_CERTIFICATE_FILE"); file != "" {
		key := os.Getenv("ONNXPLAIN_KEY_FILE")
		options = append(options, onnxplain.WithClientCertificate(file, key))
	}
	return onnxplain.Connect(os.Getenv("ONNXPLAIN_ENDPOINT"), options...)
}

// put asks the question; what the service refuses is an answer too.
func (q question) put(client *onnxplain.Client) answer {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if q.TimeoutSeconds > 0 {
		ctx, cancel = context.WithTimeout(ctx, seconds(q.TimeoutSeconds))
		defer cancel()
	}
	if q.CancelAfterSeconds > 0 {
		time.AfterFunc(seconds(q.CancelAfterSeconds), cancel)
	}
	found, err := q.call(ctx, client)
	var refused *onnxplain.Error
	if errors.As(err, &refused) {
		return refusal(refused)
	}
	check(err)
	return found
}

func refusal(refused *onnxplain.Error) answer {
	return answer{"error": answer{
		"reason": refused.Reason, "message": refused.Message, "field": refused.Field,
		"code": code.Code(refused.Code).String(),
	}}
}

func seconds(count float64) time.Duration {
	return time.Duration(count * float64(time.Second))
}

func (q question) call(ctx context.Context, client *onnxplain.Client) (answer, error) {
	switch q.Call {
	case "describe":
		found, err := client.Describe(ctx, q.model())
		return response(&onnxplainv1.DescribeModelResponse{Model: found}, err)
	case "describe_table":
		options := &onnxplainv1.DescribeTableRequest{}
		q.options(options)
		return response(client.DescribeTable(ctx, q.table(), q.model(), options))
	case "predict":
		options := &onnxplainv1.PredictRequest{}
		q.options(options)
		return response(client.Predict(ctx, q.model(), q.table(), options))
	case "check":
		options := &onnxplainv1.CheckModelRequest{}
		q.options(options)
		return response(client.CheckModel(ctx, q.model(), q.table(), options))
	case "compare":
		request := &onnxplainv1.CompareExplanationsRequest{}
		q.options(request)
		found, err := client.CompareExplanations(ctx, request)
		return response(&onnxplainv1.CompareExplanationsResponse{Comparison: found}, err)
	case "stream":
		return q.stream(ctx, client)
	case "upload":
		return q.upload(ctx, client)
	case "plan":
		return response(client.Plan(ctx, q.model(), q.table(), q.request()))
	case "operation":
		return q.operation(ctx, client)
	}
	return response(client.Explain(ctx, q.model(), q.table(), q.request()))
}

func (q question) stream(ctx context.Context, client *onnxplain.Client) (answer, error) {
	progress := [][]float64{}
	var last *onnxplainv1.ExplainResponse
	for event, err := range client.ExplainStream(ctx, q.model(), q.table(), q.request()) {
		if err != nil {
			return nil, err
		}
		if step := event.GetProgress(); step != nil {
			progress = append(progress, []float64{step.GetDone(), step.GetPlanned()})
		}
		last = event.GetResponse()
	}
	found, err := response(last, nil)
	found["progress"] = progress
	return found, err
}

func (q question) upload(ctx context.Context, client *onnxplain.Client) (answer, error) {
	model, err := client.UploadModel(ctx, q.model())
	if err != nil {
		return nil, err
	}
	table, err := client.UploadTable(ctx, q.table())
	if err != nil {
		return nil, err
	}
	found, err := response(client.Explain(ctx, model, table, q.request()))
	if err == nil {
		found["ids"] = answer{"model": model.ID, "table": table.ID}
	}
	return found, err
}

func response(message proto.Message, err error) (answer, error) {
	if err != nil {
		return nil, err
	}
	content, err := onnxplain.JSON(message)
	return answer{"response": json.RawMessage(content)}, err
}

func (q question) request() *onnxplainv1.ExplainRequest {
	request := &onnxplainv1.ExplainRequest{}
	q.options(request)
	return request
}

// options reads the request, without its files, into a message of its kind.
func (q question) options(request proto.Message) {
	if q.Request != nil {
		check(protojson.Unmarshal(q.Request, request))
	}
}

func (q question) model() onnxplain.Model {
	if q.Model == "" {
		return nil
	}
	return onnxplain.ModelFile(filepath.Join(q.root, q.Model))
}

func (q question) table() onnxplain.Table {
	if q.Columns != nil {
		columns, err := read(q.Columns)
		check(err)
		return onnxplain.TableColumns(columns...)
	}
	if q.Table == "" {
		return nil
	}
	return onnxplain.TableFile(filepath.Join(q.root, q.Table))
}
