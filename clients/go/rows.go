package onnxplain

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// Predict predicts rows of a table, as an explanation would ask the model for
// them. The options are those of the contract, without model and table; nil
// predicts all rows. The values of the answer are row-major.
func (c *Client) Predict(
	ctx context.Context, model Model, table Table, options *onnxplainv1.PredictRequest,
) (*onnxplainv1.PredictResponse, error) {
	if model == nil || table == nil {
		return nil, errors.New("onnxplain: predictions need a model and a table")
	}
	parcel, err := c.packFiles(model, table, options)
	if err != nil {
		return nil, err
	}
	return deliver(ctx, c, parcel,
		func(ctx context.Context) (*onnxplainv1.PredictResponse, error) {
			request := &onnxplainv1.PredictRequest{}
			proto.Merge(request, options)
			request.Model, request.Table = parcel.request.GetModel(), parcel.request.GetTable()
			return c.service.Predict(ctx, request)
		})
}

// CheckModel compares a model with what the library that trained it predicted,
// which columns of the table hold: options.ExpectedPredictionColumns. The
// options are those of the contract, without model and table.
func (c *Client) CheckModel(
	ctx context.Context, model Model, table Table, options *onnxplainv1.CheckModelRequest,
) (*onnxplainv1.CheckModelResponse, error) {
	if model == nil || table == nil {
		return nil, errors.New("onnxplain: a check needs a model and a table")
	}
	parcel, err := c.packFiles(model, table, options)
	if err != nil {
		return nil, err
	}
	return deliver(ctx, c, parcel,
		func(ctx context.Context) (*onnxplainv1.CheckModelResponse, error) {
			request := &onnxplainv1.CheckModelRequest{}
			proto.Merge(request, options)
			request.Model, request.Table = parcel.request.GetModel(), parcel.request.GetTable()
			return c.service.CheckModel(ctx, request)
		})
}

// DescribeTable tells what a table holds: its columns, and its first rows or
// those that the options choose; and with a model, which column is which
// feature. Model and options may be nil.
func (c *Client) DescribeTable(
	ctx context.Context, table Table, model Model, options *onnxplainv1.DescribeTableRequest,
) (*onnxplainv1.DescribeTableResponse, error) {
	if table == nil {
		return nil, errors.New("onnxplain: no table to describe")
	}
	parcel, err := c.packFiles(model, table, options)
	if err != nil {
		return nil, err
	}
	return deliver(ctx, c, parcel,
		func(ctx context.Context) (*onnxplainv1.DescribeTableResponse, error) {
			request := &onnxplainv1.DescribeTableRequest{}
			proto.Merge(request, options)
			request.Model, request.Table = parcel.request.GetModel(), parcel.request.GetTable()
			return c.service.DescribeTable(ctx, request)
		})
}
