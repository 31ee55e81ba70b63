package onnxplain_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// sent returns the table as a server gets it.
func sent(t *testing.T, table onnxplain.Table) (*onnxplainv1.Table, error) {
	t.Helper()
	service := newFake()
	if _, err := service.client(t).Explain(context.Background(), model, table, nil, method); err != nil {
		return nil, err
	}
	return service.requests[0].GetTable(), nil
}

func packed(t *testing.T, content string) []byte {
	t.Helper()
	var found bytes.Buffer
	writer := gzip.NewWriter(&found)
	if _, err := writer.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return found.Bytes()
}

func TestAFileIsWhatItBeginsLike(t *testing.T) {
	kinds := map[string]func(*onnxplainv1.Table) []byte{
		"age\n1\n2\n":            (*onnxplainv1.Table).GetCsv,
		"PAR1 and so on":         (*onnxplainv1.Table).GetParquet,
		"ARROW1 and so on":       (*onnxplainv1.Table).GetArrow,
		"\xff\xff\xff\xff so on": (*onnxplainv1.Table).GetArrow,
	}
	for content, get := range kinds {
		path := filepath.Join(t.TempDir(), "table")
		if err := os.WriteFile(path, packed(t, content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, table := range []onnxplain.Table{
			onnxplain.TableBytes([]byte(content)),
			onnxplain.TableReader(strings.NewReader(content)),
			onnxplain.TableFile(path),
		} {
			found, err := sent(t, table)
			if err != nil || string(get(found)) != content {
				t.Errorf("%q was sent as %v, %v", content, found, err)
			}
		}
	}
}

func TestABrokenGzipFileIsRefusedBeforeAnythingIsSent(t *testing.T) {
	whole := packed(t, strings.Repeat("age\n", 100))

	for _, content := range [][]byte{whole[:5], whole[:len(whole)-3]} {
		if _, err := sent(t, onnxplain.TableBytes(content)); err == nil || !strings.Contains(err.Error(), "gzip") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAMissingFileIsTheSystemsError(t *testing.T) {
	client := newFake().client(t)
	missing := onnxplain.ModelFile(filepath.Join(t.TempDir(), "none.onnx"))

	if _, err := client.Describe(context.Background(), missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestRowsAndColumnsAreOneTable(t *testing.T) {
	byRows, err := sent(t, onnxplain.TableRows([]string{"age", "bmi"}, [][]float64{{1, 2}, {3, 4}, {5, 6}}))
	if err != nil {
		t.Fatal(err)
	}

	found := byRows.GetColumns().GetColumns()
	if !slices.Equal(found[0].GetNumbers(), []float64{1, 3, 5}) || found[1].GetName() != "bmi" ||
		!slices.Equal(found[1].GetNumbers(), []float64{2, 4, 6}) {
		t.Errorf("sent %v", found)
	}
}

func TestRowsOfAnotherWidthAreRefused(t *testing.T) {
	_, err := sent(t, onnxplain.TableRows([]string{"age", "bmi"}, [][]float64{{1, 2}, {3}}))

	if err == nil || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("got %v", err)
	}
}

func TestFilesOfStoresAreNamedByTheirURIs(t *testing.T) {
	service := newFake()
	filter := &onnxplainv1.TableFilter{Column: "year", Values: []string{"2026"}}
	selection := &onnxplainv1.TableUris{Uris: []string{"s3://lake/"}, Filters: []*onnxplainv1.TableFilter{filter}}
	pinned := onnxplain.PinnedModelURI("models:/churn@champion", strings.Repeat("0", 64))
	for _, asked := range []struct {
		model onnxplain.Model
		table onnxplain.Table
	}{
		{onnxplain.ModelURI("s3://models/churn.onnx"), onnxplain.TableURIs("s3://lake/a.csv", "s3://lake/b.csv")},
		{pinned, onnxplain.TableSelection(selection)},
	} {
		if _, err := service.client(t).Explain(context.Background(), asked.model, asked.table, nil, method); err != nil {
			t.Fatal(err)
		}
	}

	first, second := service.requests[0], service.requests[1]
	if uri := first.GetModel().GetUri(); uri != "s3://models/churn.onnx" || first.GetModel().GetSha256() != "" {
		t.Errorf("the model is sent as %v", first.GetModel())
	}
	if uris := first.GetTable().GetUris().GetUris(); !slices.Equal(uris, []string{"s3://lake/a.csv", "s3://lake/b.csv"}) {
		t.Errorf("the table is sent as %v", uris)
	}
	if sha256 := second.GetModel().GetSha256(); sha256 != strings.Repeat("0", 64) {
		t.Errorf("the pin is sent as %q", sha256)
	}
	if filters := second.GetTable().GetUris().GetFilters(); len(filters) != 1 || filters[0].GetColumn() != "year" {
		t.Errorf("the filters are sent as %v", filters)
	}
}

func TestAModelBehindAnAddressIsNamed(t *testing.T) {
	service := newFake()
	remote := &onnxplainv1.RemoteModel{
		Uri: "http://models:8080", Protocol: onnxplainv1.RemoteModel_OIP_REST, Name: "churn", Identity: "of May",
	}
	table := onnxplain.TableBytes([]byte("age\n1\n2\n"))

	if _, err := service.client(t).Explain(context.Background(), onnxplain.RemoteModel(remote), table, nil, method); err != nil {
		t.Fatal(err)
	}

	if sent := service.requests[0].GetModel().GetRemote(); !proto.Equal(sent, remote) {
		t.Errorf("the model is sent as %v", sent)
	}
}
