package onnxplain_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// endpoint is that of a service which knows one answer.
var endpoint = listen()

func listen() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	newFake().serve(listener)
	return listener.Addr().String()
}

// connect is Connect where nothing is to be shown about it.
func connect(options ...onnxplain.Option) *onnxplain.Client {
	client, err := onnxplain.Connect(endpoint, options...)
	if err != nil {
		log.Fatal(err)
	}
	return client
}

func Example() {
	client, err := onnxplain.Connect(endpoint) // like "localhost:8081"
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	found, err := client.Explain(context.Background(),
		onnxplain.ModelFile("../../examples/miami/miami.onnx"),
		onnxplain.TableFile("../../examples/miami/miami_housing.csv.gz"),
		&onnxplainv1.ExplainRequest{RowCount: proto.Int32(300)},
		&onnxplainv1.InteractionsOptions{PairwiseFeatureCount: proto.Int32(3)},
	)
	if err != nil {
		log.Fatal(err)
	}

	explanation := found.GetExplanations()[0]
	fmt.Println(explanation.GetInteractions().GetTotal().GetValues())
	fmt.Println(explanation.GetPlots()[0].GetVegaLite())
	// Output:
	// [0.25]
	// {"mark": "bar"}
}

func ExampleConnect() {
	client, err := onnxplain.Connect("explain.example:443",
		onnxplain.WithTLS(), onnxplain.WithToken("ab12cd34"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	// Output:
}

func ExampleClient_Close() {
	client := connect()
	fmt.Println(client.Close())
	// Output: <nil>
}

func ExampleClient_Explain() {
	client := connect()
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	found, err := client.Explain(ctx,
		onnxplain.ModelBytes([]byte("the bytes of an ONNX file")),
		onnxplain.TableBytes([]byte("age,bmi\n18,33.8\n27,22.7\n")),
		nil,
		&onnxplainv1.InteractionsOptions{},
	)

	fmt.Println(found.GetExplanations()[0].GetInteractions().GetTotal().GetValues(), err)
	// Output: [0.25] <nil>
}

func ExampleClient_ExplainStream() {
	client := connect()
	defer client.Close()

	model, table := onnxplain.ModelBytes(nil), onnxplain.TableBytes(nil)
	for event, err := range client.ExplainStream(
		context.Background(), model, table, nil, &onnxplainv1.InteractionsOptions{},
	) {
		if err != nil {
			log.Fatal(err)
		}
		if step := event.GetProgress(); step != nil {
			fmt.Printf("%.0f of %.0f rows\n", step.GetDone(), step.GetPlanned())
		} else {
			fmt.Println(len(event.GetResponse().GetExplanations()), "explanation")
		}
	}
	// Output:
	// 0 of 10 rows
	// 10 of 10 rows
	// 1 explanation
}

func ExampleClient_Plan() {
	client := connect()
	defer client.Close()

	plan, err := client.Plan(context.Background(),
		onnxplain.ModelBytes([]byte("the bytes of an ONNX file")),
		onnxplain.TableBytes([]byte("age,bmi\n18,33.8\n27,22.7\n")),
		nil,
		&onnxplainv1.InteractionsOptions{},
	)

	fmt.Println(plan.GetPredictedRowCount(), plan.GetSeconds().GetHigh(), err)
	// Output: 90000 30 <nil>
}

func ExampleClient_Describe() {
	client := connect()
	defer client.Close()

	found, err := client.Describe(context.Background(), onnxplain.ModelBytes(nil))

	fmt.Println(found.GetOutputNames(), err)
	// Output: [price] <nil>
}

func ExampleClient_Health() {
	client := connect()
	defer client.Close()

	fmt.Println(client.Health(context.Background()))
	// Output: SERVING <nil>
}

func ExampleClient_Service() {
	client := connect()
	defer client.Close()

	found, err := client.Service().DescribeModel(context.Background(),
		&onnxplainv1.DescribeModelRequest{})

	fmt.Println(found.GetModel().GetOutputNames(), err)
	// Output: [price] <nil>
}

func ExampleClient_UploadModel() {
	client := connect()
	defer client.Close()
	ctx := context.Background()

	model, err := client.UploadModel(ctx, onnxplain.ModelBytes([]byte("the bytes of an ONNX file")))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"January", "February"} {
		table := onnxplain.TableBytes([]byte("age,bmi\n18,33.8\n27,22.7\n"))
		_, err := client.Explain(ctx, model, table, nil, &onnxplainv1.InteractionsOptions{})
		fmt.Println(name, err)
	}
	// Output:
	// January <nil>
	// February <nil>
}

func ExampleClient_UploadTable() {
	client := connect()
	defer client.Close()

	rows := strings.NewReader("age,bmi\n18,33.8\n27,22.7\n")
	table, err := client.UploadTable(context.Background(), onnxplain.TableReader(rows))
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(table.ID[:15])
	// Output: sha256:4676a09e
}

func ExampleError() {
	client := connect()
	defer client.Close()

	_, err := client.Describe(context.Background(), onnxplain.ModelID("sha256:0"))

	var refused *onnxplain.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Reason)
		fmt.Println(refused.Field)
		fmt.Println(refused.Code == codes.NotFound)
	}
	// Output:
	// BLOB_NOT_FOUND
	// model.id
	// true
}

func ExampleJSON() {
	content, err := onnxplain.JSON(&onnxplainv1.Plot{Name: "overall"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.ReplaceAll(string(content), " ", ""))
	// Output: {"name":"overall","title":"","description":"","vegaLite":""}
}

func ExampleModel() {
	for _, model := range []onnxplain.Model{
		onnxplain.ModelFile("../../examples/miami/miami.onnx"),
		onnxplain.ModelBytes([]byte("the bytes of an ONNX file")),
		onnxplain.ModelReader(strings.NewReader("the same")),
	} {
		client := connect()
		_, err := client.Describe(context.Background(), model)
		fmt.Println(err)
		client.Close()
	}
	// Output:
	// <nil>
	// <nil>
	// <nil>
}

func ExampleTable() {
	names := []string{"age", "bmi"}
	client := connect()
	defer client.Close()
	for _, table := range []onnxplain.Table{
		onnxplain.TableFile("../../examples/iris/iris.csv"),
		onnxplain.TableBytes([]byte("age,bmi\n18,33.8\n27,22.7\n")),
		onnxplain.TableRows(names, [][]float64{{18, 33.8}, {27, 22.7}}),
		onnxplain.TableColumns(onnxplain.Numbers("age", 18, 27), onnxplain.Strings("sex", "f", "m")),
	} {
		_, err := client.Explain(context.Background(), onnxplain.ModelBytes(nil), table, nil,
			&onnxplainv1.InteractionsOptions{})
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// <nil>
}

func ExampleWithTokenSource() {
	read := func(context.Context) (string, error) {
		content, err := os.ReadFile("/var/run/secrets/tokens/onnxplain")
		return strings.TrimSpace(string(content)), err
	}
	client, err := onnxplain.Connect("explain.example:443",
		onnxplain.WithTLS(), onnxplain.WithTokenSource(read))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	// Output:
}

func ExampleWithToken() {
	_, err := onnxplain.Connect("explain.example:80", onnxplain.WithToken("ab12cd34"))
	fmt.Println(err)
	// Output: onnxplain: the token would go to explain.example:80 unencrypted; use WithTLS, or WithUnencryptedToken where something else encrypts it
}

func ExampleWithClientCertificate() {
	_, err := onnxplain.Connect("explain.example:443",
		onnxplain.WithCAFile("ca.crt"), onnxplain.WithClientCertificate("tls.crt", "tls.key"))
	fmt.Println(err)
	// Output: onnxplain: open ca.crt: no such file or directory
}

func ExampleWithTLSConfig() {
	client, err := onnxplain.Connect("10.0.0.7:443",
		onnxplain.WithTLSConfig(&tls.Config{ServerName: "explain.example", MinVersion: tls.VersionTLS13}))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	// Output:
}

func ExampleWithRetries() {
	client := connect(onnxplain.WithRetries(0), onnxplain.WithMessageLimit(256<<20))
	defer client.Close()
	// Output:
}

func ExampleWithDialOptions() {
	trace := func(
		ctx context.Context, method string, request, answer any,
		connection *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		fmt.Println(method)
		return call(ctx, method, request, answer, connection, options...)
	}
	client := connect(onnxplain.WithDialOptions(grpc.WithUnaryInterceptor(trace)))
	defer client.Close()
	_, _ = client.Health(context.Background())
	// Output: /grpc.health.v1.Health/Check
}
