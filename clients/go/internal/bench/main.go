// Command bench makes one call many times, after a first one, and prints the
// seconds of each as JSON: for bench/clients.py.
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
) ([]float64, error) {
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
		Plots: proto.Bool(false),
	}
	seconds := make([]float64, 0, count)
	for i := range count + 1 {
		begun := time.Now()
		_, err := client.Explain(ctx, keptModel, keptTable, options, &onnxplainv1.InteractionsOptions{})
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first one computes
			seconds = append(seconds, time.Since(begun).Seconds())
		}
	}
	return seconds, nil
}
