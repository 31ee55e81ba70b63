package onnxplain_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
)

// naming is what a model begins with that has values in files of these names.
func naming(names ...string) []byte {
	content := "a model"
	for _, name := range names {
		content += "\x0a\x08location\x12" + string(rune(len(name))) + name
	}
	return []byte(content)
}

// inFolder writes files into a folder of the test, and returns the path of the model in it.
func inFolder(t *testing.T, model []byte, files map[string]string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "models")
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(folder, "model.onnx")
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(path, model, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesThatAModelNamesGoWithIt(t *testing.T) {
	service := newFake()
	path := inFolder(t, naming("net.data", "w/b.data", "net.data", "../secret", "/etc/hostname"), map[string]string{
		"net.data": "values", "w/b.data": "others", "../secret": "secret",
	})

	if _, err := service.client(t).Explain(context.Background(), onnxplain.ModelFile(path), table, nil, method); err != nil {
		t.Fatal(err)
	}

	sent := []string{}
	for _, file := range service.requests[0].GetModel().GetFiles() {
		sent = append(sent, file.GetName()+" "+string(file.GetContent()))
	}
	if strings.Join(sent, ", ") != "net.data values, w/b.data others" {
		t.Errorf("sent %v", sent)
	}
}

func TestAMissingFileIsNamedWithItsFolder(t *testing.T) {
	path := inFolder(t, naming("net.data"), nil)

	_, err := newFake().client(t).Explain(context.Background(), onnxplain.ModelFile(path), table, nil, method)

	var told *onnxplain.Error
	if !errors.As(err, &told) || told.Reason != "EXTERNAL_DATA" ||
		!strings.Contains(told.Message, "net.data") || !strings.Contains(told.Message, filepath.Dir(path)) {
		t.Errorf("got %v", err)
	}
}

func TestALinkOutOfTheFolderIsNotFollowed(t *testing.T) {
	path := inFolder(t, naming("net.data"), map[string]string{"../secret": "secret"})
	if err := os.Symlink("../secret", filepath.Join(filepath.Dir(path), "net.data")); err != nil {
		t.Skip(err)
	}

	_, err := newFake().client(t).Explain(context.Background(), onnxplain.ModelFile(path), table, nil, method)

	var told *onnxplain.Error
	if !errors.As(err, &told) || told.Reason != "EXTERNAL_DATA" {
		t.Errorf("got %v", err)
	}
}

func TestAModelWithFilesOverTheLimitIsUploadedWithThem(t *testing.T) {
	service := newFake()
	path := inFolder(t, naming("net.data"), map[string]string{"net.data": strings.Repeat("v", 5_000)})

	_, err := service.client(t, onnxplain.WithMessageLimit(4_000)).
		Explain(context.Background(), onnxplain.ModelFile(path), table, nil, method)

	if err != nil || len(service.kept) != 1 {
		t.Fatalf("kept %v, %v", service.kept, err)
	}
	sent := service.requests[len(service.requests)-1].GetModel()
	if service.kept[sent.GetId()] == 0 || len(sent.GetFiles()) != 0 {
		t.Errorf("sent %v, kept %v", sent, service.kept)
	}
}
