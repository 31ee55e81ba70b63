//go:build unix

package onnxplain_test

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
)

func TestAPipeBesideAModelIsNotWaitedFor(t *testing.T) {
	path := inFolder(t, naming("net.data"), nil)
	if err := syscall.Mkfifo(filepath.Join(filepath.Dir(path), "net.data"), 0o600); err != nil {
		t.Skip(err)
	}

	_, err := newFake().client(t).Explain(context.Background(), onnxplain.ModelFile(path), table, nil, method)

	var told *onnxplain.Error
	if !errors.As(err, &told) || told.Reason != "EXTERNAL_DATA" {
		t.Errorf("got %v", err)
	}
}
