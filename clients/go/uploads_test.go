package onnxplain_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
)

func TestAFileGoesInPartsOfOneMebibyte(t *testing.T) {
	service := newFake()
	content := bytes.Repeat([]byte("a"), 5<<19)

	found, err := service.client(t).UploadModel(context.Background(), onnxplain.ModelBytes(content))

	if err != nil || service.kept[found.ID] != len(content) {
		t.Fatalf("kept %v, %v", service.kept, err)
	}
	if want := []int{1 << 20, 1 << 20, 1 << 19}; !slices.Equal(service.parts, want) {
		t.Errorf("parts of %v bytes", service.parts)
	}
}

func TestAnEmptyFileHasAPartToo(t *testing.T) {
	service := newFake()

	if _, err := service.client(t).UploadTable(context.Background(), onnxplain.TableBytes(nil)); err != nil {
		t.Fatal(err)
	}

	if !slices.Equal(service.parts, []int{0}) {
		t.Errorf("parts of %v bytes", service.parts)
	}
}

func TestWhatTheServerHasNoLongerIsUploadedAgain(t *testing.T) {
	service := newFake()
	client := service.client(t)
	ctx := context.Background()
	model, err := client.UploadModel(ctx, model)
	if err != nil {
		t.Fatal(err)
	}
	table, err := client.UploadTable(ctx, onnxplain.TableReader(strings.NewReader("PAR1...")))
	if err != nil {
		t.Fatal(err)
	}
	clear(service.kept)

	if _, err := client.Explain(ctx, model, table, nil, method); err != nil {
		t.Fatal(err)
	}

	if len(service.kept) != 2 || service.kept[model.ID] == 0 || service.kept[table.ID] == 0 {
		t.Errorf("kept %v", service.kept)
	}
	if sent := service.requests[0]; sent.GetModel().GetId() != model.ID || sent.GetTable().GetId() != table.ID {
		t.Errorf("sent %v", sent)
	}
}

func TestAnIDWithoutItsFileIsRefused(t *testing.T) {
	client := newFake().client(t)

	_, err := client.Explain(context.Background(), onnxplain.ModelID("sha256:0"), table, nil, method)

	var told *onnxplain.Error
	if !errors.As(err, &told) || told.Reason != "BLOB_NOT_FOUND" || told.Field != "model.id" {
		t.Errorf("got %v", err)
	}
}

func TestTheLargestFilesOfARequestOverTheLimitAreUploaded(t *testing.T) {
	small, large := bytes.Repeat([]byte("s"), 3_000), bytes.Repeat([]byte("l"), 9_000)
	cases := []struct {
		name         string
		model, table []byte
		limit        int
		named        string
	}{
		{"within", small, large, 20_000, ""},
		{"the model", large, small, 10_000, "model"},
		{"the table", small, large, 10_000, "table"},
		{"both", small, large, 2_000, "model table"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			service := newFake()
			client := service.client(t, onnxplain.WithMessageLimit(c.limit))
			model, table := onnxplain.ModelBytes(c.model), onnxplain.TableBytes(c.table)

			if _, err := client.Explain(context.Background(), model, table, nil, method); err != nil {
				t.Fatal(err)
			}

			named := []string{}
			sent := service.requests[len(service.requests)-1]
			if sent.GetModel().GetId() != "" {
				named = append(named, "model")
			}
			if sent.GetTable().GetId() != "" {
				named = append(named, "table")
			}
			if strings.Join(named, " ") != c.named || len(service.kept) != len(named) {
				t.Errorf("named %v, kept %v", named, service.kept)
			}
		})
	}
}

func TestAFileThatTheServerHasIsNotSentAgain(t *testing.T) {
	service := newFake()
	client := service.client(t, onnxplain.WithMessageLimit(4_000))
	large := onnxplain.ModelBytes(bytes.Repeat([]byte("m"), 5_000))

	for range 2 {
		if _, err := client.Describe(context.Background(), large); err != nil {
			t.Fatal(err)
		}
	}

	want := []string{"DescribeModel", "UploadModel", "DescribeModel", "DescribeModel"}
	if !slices.Equal(service.calls, want) {
		t.Errorf("called %v", service.calls)
	}
}

func TestWhatIsNoFileCannotBeUploaded(t *testing.T) {
	client := newFake().client(t)
	ctx := context.Background()

	if _, err := client.UploadModel(ctx, onnxplain.ModelID("sha256:0")); err == nil {
		t.Error("an id was uploaded")
	}
	columns := onnxplain.TableColumns(onnxplain.Numbers("age", 1, 2))
	if _, err := client.UploadTable(ctx, columns); err == nil {
		t.Error("columns were uploaded")
	}
}
