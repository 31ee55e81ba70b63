package onnxplain_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
)

func TestATokenGoesWithEachCall(t *testing.T) {
	count := 0
	source := func(context.Context) (string, error) {
		count++
		return strings.Repeat("t", count), nil
	}
	for name, c := range map[string]struct {
		option onnxplain.Option
		want   []string
	}{
		"fixed":  {onnxplain.WithToken("s3cret"), []string{"Bearer s3cret", "Bearer s3cret"}},
		"source": {onnxplain.WithTokenSource(source), []string{"Bearer t", "Bearer tt"}},
	} {
		t.Run(name, func(t *testing.T) {
			service := newFake()
			client := service.client(t, c.option, onnxplain.WithUnencryptedToken())

			if err := errors.Join(explain(client), uploadTable(client)); err != nil {
				t.Fatal(err)
			}

			if !slices.Equal(service.tokens, c.want) {
				t.Errorf("sent %q", service.tokens)
			}
		})
	}
}

func TestATokenIsNotSentUnencryptedToAnotherMachine(t *testing.T) {
	for endpoint, stays := range map[string]bool{
		"localhost:8081": true, "LocalHost:8081": true, "127.0.0.1:8081": true, "[::1]:8081": true,
		"127.8.9.1:1": true, "unix:///run/onnxplain": true, "dns:///localhost:8081": true,
		"localhost": true, "::1": true,
		"explain.example:443": false, "10.0.0.1:8081": false, "localhost.example:8081": false,
		"dns:///explain.example:443": false, "dns://127.0.0.1/explain.example:443": false,
		"xds:///localhost": false, "[fe80::1]:8081": false,
	} {
		for name, option := range map[string]onnxplain.Option{
			"fixed":  onnxplain.WithToken("s3cret"),
			"source": onnxplain.WithTokenSource(func(context.Context) (string, error) { return "", nil }),
		} {
			client, err := onnxplain.Connect(endpoint, option)
			if refused := err != nil && strings.Contains(err.Error(), "unencrypted"); refused == stays {
				t.Errorf("a %s token to %s: %v", name, endpoint, err)
			}
			if err == nil {
				client.Close()
			}
		}
	}
}

func TestATokenGoesEncryptedOrWhereItIsAllowed(t *testing.T) {
	for name, option := range map[string]onnxplain.Option{
		"TLS": onnxplain.WithTLS(), "allowed": onnxplain.WithUnencryptedToken(),
	} {
		client, err := onnxplain.Connect("explain.example:443", onnxplain.WithToken("s3cret"), option)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		client.Close()
	}
}

func TestWhatIsNoTokenIsRefusedWithoutRepeatingIt(t *testing.T) {
	for _, wrong := range []string{"", "two words", "line\nend", "ümlaut"} {
		_, fixed := onnxplain.Connect("localhost:8081", onnxplain.WithToken(wrong))
		source := func(context.Context) (string, error) { return wrong, nil }
		client := newFake().client(t, onnxplain.WithTokenSource(source), onnxplain.WithUnencryptedToken())

		for _, err := range []error{fixed, explain(client)} {
			if err == nil || !strings.Contains(err.Error(), "token") {
				t.Errorf("%q: got %v", wrong, err)
			}
			if wrong != "" && err != nil && strings.Contains(err.Error(), wrong) {
				t.Errorf("%v repeats the token", err)
			}
		}
	}
}

func TestASourceWithoutATokenFailsTheCall(t *testing.T) {
	service := newFake()
	source := func(context.Context) (string, error) { return "", errors.New("the vault is shut") }
	client := service.client(t, onnxplain.WithTokenSource(source), onnxplain.WithUnencryptedToken())

	err := explain(client)

	if err == nil || !strings.Contains(err.Error(), "the vault is shut") || len(service.calls) > 0 {
		t.Errorf("got %v after %v", err, service.calls)
	}
}

func TestOptionsThatDoNotFitAreRefused(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, option := range map[string]onnxplain.Option{
		"no authorities":      onnxplain.WithCAFile(empty),
		"no file":             onnxplain.WithCAFile(empty + "x"),
		"no name of a file":   onnxplain.WithCAFile(""),
		"no names of files":   onnxplain.WithClientCertificate("", ""),
		"no configuration":    onnxplain.WithTLSConfig(nil),
		"no certificate":      onnxplain.WithClientCertificate(empty, empty),
		"half a certificate":  onnxplain.WithClientCertificate(empty, ""),
		"retries below 0":     onnxplain.WithRetries(-1),
		"messages of nothing": onnxplain.WithMessageLimit(0),
	} {
		if _, err := onnxplain.Connect("localhost:8081", option); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
