package onnxplain

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// How an ONNX file begins to name another one, for values of a tensor: the entry
// "location" of its field external_data. The name follows.
var location = []byte("\x0a\x08location\x12")

// beside reads the files that a model names, in its folder or below, so that the
// server can put them together. Names that lead elsewhere are left to the server,
// which refuses them.
func beside(content []byte, folder string) ([]*onnxplainv1.ModelFile, error) {
	names := externalNames(content)
	if len(names) == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := []*onnxplainv1.ModelFile{}
	for _, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			continue
		}
		values, err := readRegular(root, name)
		if err != nil {
			return nil, &Error{
				Reason: "EXTERNAL_DATA", Field: "model.files", Code: codes.InvalidArgument,
				Message: fmt.Sprintf("the model has values in the file %q, which cannot be read in %s: %v", name, folder, err),
			}
		}
		files = append(files, &onnxplainv1.ModelFile{Name: name, Content: values})
	}
	return files, nil
}

// externalNames returns the names of the files with values of a model, each once.
func externalNames(content []byte) (names []string) {
	for {
		_, rest, found := bytes.Cut(content, location)
		if !found {
			return names
		}
		if name, size := protowire.ConsumeBytes(rest); size > 0 && !slices.Contains(names, string(name)) {
			names = append(names, string(name))
		}
		content = rest
	}
}

// readRegular reads a file that links do not lead out of its folder. It looks at
// what the name stands for first: opening a pipe would wait for its other end.
func readRegular(root *os.Root, name string) ([]byte, error) {
	path := filepath.FromSlash(name)
	told, err := root.Stat(path)
	if err != nil {
		return nil, err
	}
	if !told.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", name)
	}
	return root.ReadFile(path)
}
