package onnxplain

import (
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// JSON writes a message as the service's REST interface has it: the canonical
// mapping, with lists and numbers even where they are empty or 0.
func JSON(message proto.Message) ([]byte, error) {
	return protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(message)
}
