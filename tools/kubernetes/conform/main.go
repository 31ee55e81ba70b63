// Conform checks manifests as an API server would: every field must be known to the published types
// of its kind, and every pod must meet the restricted Pod Security Standard.
//
//	conform FILE...
//
// It prints one line per fault, and ends with 1 where there is one.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	faulty := false
	for _, name := range os.Args[1:] {
		faults, err := check(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		for _, fault := range faults {
			faulty = true
			fmt.Printf("%s: %s\n", name, fault)
		}
	}
	if faulty {
		os.Exit(1)
	}
}

// check returns the faults of all documents of a file.
func check(name string) ([]string, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	checker, err := newChecker()
	if err != nil {
		return nil, err
	}
	var faults []string
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return faults, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(bytes.TrimSpace(document)) > 0 {
			faults = append(faults, checker.faults(document)...)
		}
	}
}
