// Command bench makes one call many times, after a first one, and prints the
// seconds of each, and those that the server computed, as JSON: for
// bench/server/clients.py.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

func main() {
	endpoint, model, table := os.Args[1], os.Args[2], os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	client, err := onnxplain.Connect(endpoint)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	seconds, err := measure(client, onnxplain.ModelFile(model), onnxplain.TableFile(table), count)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(seconds); err != nil {
		log.Fatal(err)
	}
}

func measure(
	client *onnxplain.Client, model onnxplain.Model, table onnxplain.Table, count int,
) ([][2]float64, error) {
	ctx := context.Background()
	keptModel, err := client.UploadModel(ctx, model)
	if err != nil {
		return nil, err
	}
	keptTable, err := client.UploadTable(ctx, table)
	if err != nil {
		return nil, err
	}
	options := &onnxplainv1.ExplainRequest{
		FeatureColumns: []string{
			"OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT", "structure_quality", "age", "month_sold",
		},
		Engine:   onnxplainv1.ExplainRequest_BLACK_BOX,
		RowCount: proto.Int32(500),
		Plots:    proto.Bool(false),
	}
	method := &onnxplainv1.PartialDependenceOptions{}
	seconds := make([][2]float64, 0, count)
	for i := range count + 1 {
		begun := time.Now()
		found, err := client.Explain(ctx, keptModel, keptTable, options, method)
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first one computes
			computed := found.GetReceipt().GetElapsed().AsDuration()
			seconds = append(seconds, [2]float64{time.Since(begun).Seconds(), computed.Seconds()})
		}
	}
	return seconds, nil
}
