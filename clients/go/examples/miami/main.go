// Command miami explains the model of Miami's house prices, and prints which two
// features act together most strongly.
//
// It takes the endpoint of a server, the model and the table:
//
//	go run ./examples/miami localhost:8081 \
//		../../examples/miami/miami.onnx ../../examples/miami/miami_housing.csv.gz
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"strings"
	"time"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

var features = []string{
	"OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT", "structure_quality", "age", "month_sold",
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: miami ENDPOINT MODEL TABLE")
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(endpoint, model, table string) error {
	client, err := onnxplain.Connect(endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	found, err := client.Explain(ctx,
		onnxplain.ModelFile(model), onnxplain.TableFile(table),
		&onnxplainv1.ExplainRequest{FeatureColumns: features},
		&onnxplainv1.InteractionsOptions{},
	)
	if err != nil {
		return err
	}
	strongest, strength := strongest(found.GetExplanations()[0].GetInteractions())
	fmt.Printf("%s: %.4f in the logarithm of the price\n",
		strings.Join(strongest.GetFeatures(), " x "), strength)
	return nil
}

// strongest compares pairs by the root of the numerator, which is in the unit of
// the prediction.
func strongest(found *onnxplainv1.InteractionsResult) (*onnxplainv1.InteractionStatistic, float64) {
	var pair *onnxplainv1.InteractionStatistic
	strength := -1.0
	for _, each := range found.GetPairwise() {
		if root := math.Sqrt(each.GetNumerators()[0]); root > strength {
			pair, strength = each, root
		}
	}
	return pair, strength
}
