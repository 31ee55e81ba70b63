package onnxplain

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// The largest part of a file that the contract allows.
const partBytes = 1 << 20

// A ModelRef is a model that a server keeps; calls take it in place of the model.
// It holds the bytes of the file: where the server has it no longer, the call
// uploads it again.
type ModelRef struct {
	// ID is "sha256:" and the hexadecimal digest of the model in one piece.
	ID   string
	file *file
}

// A TableRef is a table that a server keeps, likewise.
type TableRef struct {
	// ID is "sha256:" and the hexadecimal digest of the file.
	ID   string
	file *file
}

func (r *ModelRef) model() (*onnxplainv1.Model, error) { return ModelID(r.ID).model() }
func (r *TableRef) table() (*onnxplainv1.Table, error) { return TableID(r.ID).table() }

// UploadModel has the server keep a model, so that later calls need not send it.
func (c *Client) UploadModel(ctx context.Context, model Model) (*ModelRef, error) {
	message, err := model.model()
	if err != nil {
		return nil, err
	}
	file := modelFile(message)
	if file == nil {
		return nil, errors.New("onnxplain: an id is no model to upload; give its file")
	}
	id, err := c.upload(ctx, file, newAttempts(c.settings.retries))
	if err != nil {
		return nil, err
	}
	return &ModelRef{id, file}, nil
}

// UploadTable has the server keep a table, likewise.
func (c *Client) UploadTable(ctx context.Context, table Table) (*TableRef, error) {
	message, err := table.table()
	if err != nil {
		return nil, err
	}
	file := tableFile(message)
	if file == nil {
		return nil, errors.New("onnxplain: only files can be uploaded; columns and ids go as they are")
	}
	id, err := c.upload(ctx, file, newAttempts(c.settings.retries))
	if err != nil {
		return nil, err
	}
	return &TableRef{id, file}, nil
}

// A file is a model, or a table of some format.
type file struct {
	content []byte
	format  onnxplainv1.UploadTableRequest_Format // of a table; 0 for a model
	beside  []*onnxplainv1.ModelFile              // files that a model names
}

// size is the number of its bytes.
func (f *file) size() int {
	size := len(f.content)
	for _, beside := range f.beside {
		size += len(beside.GetContent())
	}
	return size
}

// modelFile returns the file that a model is sent as; nil where it is not.
func modelFile(model *onnxplainv1.Model) *file {
	if source, ok := model.GetSource().(*onnxplainv1.Model_Content); ok {
		return &file{content: source.Content, beside: model.GetFiles()}
	}
	return nil
}

// tableFile returns the file that a table is sent as; nil where it is not.
func tableFile(table *onnxplainv1.Table) *file {
	switch source := table.GetSource().(type) {
	case *onnxplainv1.Table_Arrow:
		return &file{content: source.Arrow, format: onnxplainv1.UploadTableRequest_ARROW}
	case *onnxplainv1.Table_Parquet:
		return &file{content: source.Parquet, format: onnxplainv1.UploadTableRequest_PARQUET}
	case *onnxplainv1.Table_Csv:
		return &file{content: source.Csv, format: onnxplainv1.UploadTableRequest_CSV}
	}
	return nil
}

// upload sends a file in parts, and returns its id.
func (c *Client) upload(ctx context.Context, file *file, attempts *attempts) (string, error) {
	return persist(ctx, c, attempts, func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if file.format == onnxplainv1.UploadTableRequest_FORMAT_UNSPECIFIED {
			return c.uploadModel(ctx, file)
		}
		return c.uploadTable(ctx, file)
	})
}

func (c *Client) uploadModel(ctx context.Context, file *file) (string, error) {
	stream, err := c.service.UploadModel(ctx)
	if err != nil {
		return "", err
	}
	messages := []*onnxplainv1.UploadModelRequest{}
	files := append([]*onnxplainv1.ModelFile{{Content: file.content}}, file.beside...)
	for _, each := range files {
		for _, part := range c.parts(each.GetContent()) {
			messages = append(messages, &onnxplainv1.UploadModelRequest{Content: part, File: each.GetName()})
		}
	}
	answer, err := send(stream, messages)
	return answer.GetId(), err
}

func (c *Client) uploadTable(ctx context.Context, file *file) (string, error) {
	stream, err := c.service.UploadTable(ctx)
	if err != nil {
		return "", err
	}
	messages := []*onnxplainv1.UploadTableRequest{}
	for _, part := range c.parts(file.content) {
		messages = append(messages, &onnxplainv1.UploadTableRequest{Format: file.format, Content: part})
	}
	answer, err := send(stream, messages)
	return answer.GetId(), err
}

// parts cuts a file; an empty one has a part too.
func (c *Client) parts(content []byte) [][]byte {
	size := max(1, min(partBytes, c.settings.messageLimit/2))
	parts := [][]byte{}
	for rest := content; ; rest = rest[size:] {
		if len(rest) <= size {
			return append(parts, rest)
		}
		parts = append(parts, rest[:size])
	}
}

// send makes an upload. A server that refuses in the middle ends the sending:
// why, is told when the stream is closed.
func send[Request, Answer any](
	stream grpc.ClientStreamingClient[Request, Answer], messages []*Request,
) (*Answer, error) {
	for _, message := range messages {
		if err := stream.Send(message); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return stream.CloseAndRecv()
}
