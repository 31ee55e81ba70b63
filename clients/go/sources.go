package onnxplain

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// A Model is where a model comes from: [ModelFile], [ModelBytes], [ModelReader],
// [ModelID], [ModelURI], [PinnedModelURI], [RemoteModel], or what [Client.UploadModel] returned.
type Model interface {
	model() (*onnxplainv1.Model, error)
}

// A Table is where a table comes from: [TableFile], [TableBytes], [TableReader],
// [TableColumns], [TableRows], [TableID], [TableURIs], [TableSelection], or what [Client.UploadTable] returned.
type Table interface {
	table() (*onnxplainv1.Table, error)
}

type (
	modelSource func() (*onnxplainv1.Model, error)
	tableSource func() (*onnxplainv1.Table, error)
)

func (s modelSource) model() (*onnxplainv1.Model, error) { return s() }
func (s tableSource) table() (*onnxplainv1.Table, error) { return s() }

// ModelFile is a model in an ONNX file, read at each call, with the files that it
// names for values of its tensors, in its folder or below.
func ModelFile(path string) Model {
	return modelSource(func() (*onnxplainv1.Model, error) {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("onnxplain: the model: %w", err)
		}
		files, err := beside(content, filepath.Dir(path))
		return &onnxplainv1.Model{Source: &onnxplainv1.Model_Content{Content: content}, Files: files}, err
	})
}

// ModelBytes is a model whose file is in memory.
func ModelBytes(content []byte) Model {
	return modelOf(func() ([]byte, error) { return content, nil })
}

// ModelReader is a model that is read from a stream, once: for one call, or for
// an upload.
func ModelReader(reader io.Reader) Model {
	return modelOf(func() ([]byte, error) { return io.ReadAll(reader) })
}

// ModelID is a model that was uploaded, by this caller, under this id. Where the
// server has it no longer, the reason is BLOB_NOT_FOUND; see [Client.UploadModel].
func ModelID(id string) Model {
	return modelSource(func() (*onnxplainv1.Model, error) {
		return &onnxplainv1.Model{Source: &onnxplainv1.Model_Id{Id: id}}, nil
	})
}

// ModelURI is a model that the server reads where it lies, such as
// "s3://models/churn.onnx" or "models:/churn@champion", below a prefix that its
// operator lists.
func ModelURI(uri string) Model { return PinnedModelURI(uri, "") }

// PinnedModelURI is a model like [ModelURI] with a given SHA-256, as 64 hexadecimal
// digits. A file with another content is refused; the reason is SOURCE_CHANGED.
func PinnedModelURI(uri, sha256 string) Model {
	return modelSource(func() (*onnxplainv1.Model, error) {
		return &onnxplainv1.Model{Source: &onnxplainv1.Model_Uri{Uri: uri}, Sha256: sha256}, nil
	})
}

// RemoteModel is a model behind an address, below a prefix that the operator of the
// server lists: the server asks it for predictions.
//
//	onnxplain.RemoteModel(&onnxplainv1.RemoteModel{
//		Uri: "http://models:8080", Protocol: onnxplainv1.RemoteModel_OIP_REST, Name: "churn",
//	})
func RemoteModel(remote *onnxplainv1.RemoteModel) Model {
	return modelSource(func() (*onnxplainv1.Model, error) {
		return &onnxplainv1.Model{Source: &onnxplainv1.Model_Remote{Remote: remote}}, nil
	})
}

// TableFile is a table in a CSV, Parquet or Arrow file, packed by gzip or not,
// read at each call. What it is, is told by how it begins, not by its name.
func TableFile(path string) Table {
	return tableOf(func() ([]byte, error) { return os.ReadFile(path) })
}

// TableBytes is a table whose file is in memory; see [TableFile].
func TableBytes(content []byte) Table {
	return tableOf(func() ([]byte, error) { return content, nil })
}

// TableReader is a table that is read from a stream, once: for one call, or for
// an upload. See [TableFile].
func TableReader(reader io.Reader) Table {
	return tableOf(func() ([]byte, error) { return io.ReadAll(reader) })
}

// TableID is a table that was uploaded, by this caller, under this id. Where the
// server has it no longer, the reason is BLOB_NOT_FOUND; see [Client.UploadTable].
func TableID(id string) Table {
	return tableSource(func() (*onnxplainv1.Table, error) {
		return &onnxplainv1.Table{Source: &onnxplainv1.Table_Id{Id: id}}, nil
	})
}

// TableURIs is a table in files that the server reads where they lie, such as
// "s3://lake/rows.parquet", or with a slash at the end in a folder.
func TableURIs(uris ...string) Table {
	return TableSelection(&onnxplainv1.TableUris{Uris: uris})
}

// TableSelection is a table like [TableURIs], with a format, and filters of its rows.
func TableSelection(selection *onnxplainv1.TableUris) Table {
	return tableSource(func() (*onnxplainv1.Table, error) {
		return &onnxplainv1.Table{Source: &onnxplainv1.Table_Uris{Uris: selection}}, nil
	})
}

func modelOf(read func() ([]byte, error)) Model {
	return modelSource(func() (*onnxplainv1.Model, error) {
		content, err := read()
		if err != nil {
			return nil, fmt.Errorf("onnxplain: the model: %w", err)
		}
		return &onnxplainv1.Model{Source: &onnxplainv1.Model_Content{Content: content}}, nil
	})
}

func tableOf(read func() ([]byte, error)) Table {
	return tableSource(func() (*onnxplainv1.Table, error) {
		content, err := read()
		if err == nil {
			content, err = unpacked(content)
		}
		if err != nil {
			return nil, fmt.Errorf("onnxplain: the table: %w", err)
		}
		return wrapped(content), nil
	})
}

// unpacked opens a file packed by gzip here: it is the caller's own, and the
// server would have to be wary of what it becomes.
func unpacked(content []byte) ([]byte, error) {
	if !bytes.HasPrefix(content, []byte("\x1f\x8b")) {
		return content, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("begins like a gzip file, but is broken: %w", err)
	}
	if content, err = io.ReadAll(reader); err != nil {
		return nil, fmt.Errorf("begins like a gzip file, but is broken: %w", err)
	}
	return content, nil
}

// wrapped takes the bytes for Arrow IPC or Parquet where they begin like one,
// else for CSV.
func wrapped(content []byte) *onnxplainv1.Table {
	begins := func(mark string) bool { return bytes.HasPrefix(content, []byte(mark)) }
	switch {
	case begins("ARROW1"), begins("\xff\xff\xff\xff"):
		return &onnxplainv1.Table{Source: &onnxplainv1.Table_Arrow{Arrow: content}}
	case begins("PAR1"):
		return &onnxplainv1.Table{Source: &onnxplainv1.Table_Parquet{Parquet: content}}
	}
	return &onnxplainv1.Table{Source: &onnxplainv1.Table_Csv{Csv: content}}
}
