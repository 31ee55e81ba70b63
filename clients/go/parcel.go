package onnxplain

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// A parcel is a request, with the files that it names by id at hand.
type parcel struct {
	request *onnxplainv1.ExplainRequest
	model   *file
	table   *file
}

// pack writes a request, which is the caller's own no longer. Where it is larger
// than a message may be, files are named in it instead of sent, the largest
// first: the server is asked whether it has them before they are uploaded.
func (c *Client) pack(
	model Model, table Table, options *onnxplainv1.ExplainRequest, methods []proto.Message,
) (*parcel, error) {
	packed := &parcel{request: shallow(options)}
	if err := errors.Join(packed.take(model, table), packed.ask(methods)); err != nil {
		return nil, err
	}
	packed.fit(c.settings.messageLimit)
	return packed, nil
}

// packFiles packs model and table of a request with these options beside them.
func (c *Client) packFiles(model Model, table Table, options proto.Message) (*parcel, error) {
	packed := &parcel{request: &onnxplainv1.ExplainRequest{}}
	if err := packed.take(model, table); err != nil {
		return nil, err
	}
	packed.fit(c.settings.messageLimit - proto.Size(options))
	return packed, nil
}

// fit names files until the request has no more than these bytes.
func (p *parcel) fit(limit int) {
	for proto.Size(p.request) > limit && p.nameLargest() {
	}
}

// shallow copies a request, but none of the bytes that it holds.
func shallow(request *onnxplainv1.ExplainRequest) *onnxplainv1.ExplainRequest {
	made := &onnxplainv1.ExplainRequest{}
	set := func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		made.ProtoReflect().Set(field, value)
		return true
	}
	request.ProtoReflect().Range(set)
	return made
}

// take puts model and table into the request, and keeps the files of references.
func (p *parcel) take(model Model, table Table) (err error) {
	if model != nil {
		if p.request.Model, err = model.model(); err != nil {
			return err
		}
	}
	if table != nil {
		if p.request.Table, err = table.table(); err != nil {
			return err
		}
	}
	if reference, ok := model.(*ModelRef); ok {
		p.model = reference.file
	}
	if reference, ok := table.(*TableRef); ok {
		p.table = reference.file
	}
	return nil
}

// ask adds the methods: each goes where MethodOptions has a message of its kind.
func (p *parcel) ask(methods []proto.Message) error {
	added := make([]*onnxplainv1.MethodOptions, len(methods))
	for i, method := range methods {
		added[i] = &onnxplainv1.MethodOptions{}
		field := fieldOf(added[i], method)
		if field == nil {
			return fmt.Errorf("onnxplain: methods[%d] is a %T, which is no method's options", i, method)
		}
		added[i].ProtoReflect().Set(field, protoreflect.ValueOfMessage(method.ProtoReflect()))
	}
	p.request.Methods = slices.Concat(p.request.GetMethods(), added)
	return nil
}

func fieldOf(options, method proto.Message) protoreflect.FieldDescriptor {
	if method == nil {
		return nil
	}
	fields := options.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if fields.Get(i).Message() == method.ProtoReflect().Descriptor() {
			return fields.Get(i)
		}
	}
	return nil
}

// nameLargest puts the id of the largest file in the place of its bytes; false
// where no file is left.
func (p *parcel) nameLargest() bool {
	model, table := modelFile(p.request.GetModel()), tableFile(p.request.GetTable())
	switch {
	case model == nil && table == nil:
		return false
	case table == nil, model != nil && model.size() >= table.size():
		p.model = model
		p.request.Model = &onnxplainv1.Model{Source: &onnxplainv1.Model_Id{Id: model.id()}}
	default:
		p.table = table
		p.request.Table = &onnxplainv1.Table{Source: &onnxplainv1.Table_Id{Id: table.id()}}
	}
	return true
}

// missing returns the file whose absence is the error, once; nil where that is
// not the case.
func (p *parcel) missing(err error) (found *file) {
	var told *Error
	if !errors.As(err, &told) || told.Reason != "BLOB_NOT_FOUND" {
		return nil
	}
	switch kind, _, _ := strings.Cut(told.Field, "."); kind {
	case "model":
		found, p.model = p.model, nil
	case "table":
		found, p.table = p.table, nil
	}
	return found
}

// id is what the server calls the file. What a model in several files is in one
// piece is the server's to know, so that it is uploaded: no server has this id.
func (f *file) id() string {
	if len(f.beside) > 0 {
		return "sha256:" + strings.Repeat("0", 2*sha256.Size)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(f.content))
}
