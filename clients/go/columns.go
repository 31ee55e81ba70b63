package onnxplain

import (
	"fmt"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// Numbers is a column of numbers; NaN where a value is missing.
func Numbers(name string, values ...float64) *onnxplainv1.Column {
	return &onnxplainv1.Column{Name: name, Numbers: values}
}

// Strings is a column of text; "" where a value is missing.
func Strings(name string, values ...string) *onnxplainv1.Column {
	return &onnxplainv1.Column{Name: name, Strings: values}
}

// TableColumns is a table in memory, for small ones: it goes in the message
// itself, and is not uploaded where that gets too large.
func TableColumns(columns ...*onnxplainv1.Column) Table {
	return tableSource(func() (*onnxplainv1.Table, error) {
		return &onnxplainv1.Table{
			Source: &onnxplainv1.Table_Columns{Columns: &onnxplainv1.Columns{Columns: columns}},
		}, nil
	})
}

// TableRows is a table of numbers in memory, like [TableColumns], row by row.
// Names are those of the columns.
func TableRows(names []string, rows [][]float64) Table {
	return tableSource(func() (*onnxplainv1.Table, error) {
		columns := make([]*onnxplainv1.Column, len(names))
		for i, name := range names {
			columns[i] = Numbers(name, make([]float64, len(rows))...)
		}
		for i, row := range rows {
			if len(row) != len(names) {
				return nil, fmt.Errorf("onnxplain: row %d (counted from 0) has %d values, "+
					"but there are %d names of columns", i, len(row), len(names))
			}
			for j, value := range row {
				columns[j].Numbers[i] = value
			}
		}
		return TableColumns(columns...).table()
	})
}
