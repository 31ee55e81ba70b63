package main

import (
	"bytes"
	"encoding/json"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// read takes columns out of a JSON object, in the order in which they stand
// there, which a map would lose.
func read(object []byte) (columns []*onnxplainv1.Column, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil { // the opening brace
		return nil, err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var values json.RawMessage
		if err := decoder.Decode(&values); err != nil {
			return nil, err
		}
		column, err := one(name.(string), values)
		if err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}
	return columns, nil
}

// one is a column of numbers, or of text.
func one(name string, values []byte) (*onnxplainv1.Column, error) {
	var numbers []float64
	if json.Unmarshal(values, &numbers) == nil {
		return onnxplain.Numbers(name, numbers...), nil
	}
	var texts []string
	err := json.Unmarshal(values, &texts)
	return onnxplain.Strings(name, texts...), err
}
