package main

import (
	"context"
	"errors"

	onnxplain "github.com/onnxplain/onnxplain/clients/go"
)

// operation starts the question twice by one name, waits for the end, finds it
// by the labels and by the name, and at last has it forgotten.
func (q question) operation(ctx context.Context, client *onnxplain.Client) (answer, error) {
	options := &onnxplain.StartOptions{RequestID: q.RequestID, Labels: q.Labels}
	started, err := client.Start(ctx, q.model(), q.table(), options, q.request())
	if err != nil {
		return nil, err
	}
	again, err := client.Start(ctx, q.model(), q.table(), options, q.request())
	if err != nil {
		return nil, err
	}
	if q.CancelAtOnce {
		check(started.Cancel(ctx))
	}
	progress := [][]float64{}
	_ = started.Wait(ctx, func(done, planned float64) {
		progress = append(progress, []float64{done, planned})
	})
	found, err := response(started.Result(ctx))
	var refused *onnxplain.Error
	if errors.As(err, &refused) {
		found = refusal(refused)
	} else if err != nil {
		return nil, err
	}
	found["names"], found["progress"] = []string{started.Name(), again.Name()}, progress
	return found, q.finish(ctx, client, started, found)
}

// finish tells what the server has of an operation that has ended, before and
// after it is deleted.
func (q question) finish(
	ctx context.Context, client *onnxplain.Client, ended *onnxplain.Operation, found answer,
) error {
	known, err := client.Operation(ctx, ended.Name())
	if err != nil {
		return err
	}
	found["state"] = known.Metadata.GetState().String()
	if found["listed"], err = names(ctx, client, q.Filter); err != nil {
		return err
	}
	if q.request().GetPartial() {
		parts, err := ended.Partials(ctx)
		if err != nil {
			return err
		}
		told := []answer{}
		for _, part := range parts {
			told = append(told, answer{"index": part.GetIndex(), "isFinal": part.GetIsFinal()})
		}
		found["partials"] = told
	}
	if err := ended.Delete(ctx); err != nil {
		return err
	}
	_, err = client.Operation(ctx, ended.Name())
	var refused *onnxplain.Error
	if errors.As(err, &refused) {
		found["deleted"] = refused.Reason
	}
	return nil
}

func names(ctx context.Context, client *onnxplain.Client, filter string) ([]string, error) {
	found := []string{}
	for operation, err := range client.Operations(ctx, filter) {
		if err != nil {
			return nil, err
		}
		found = append(found, operation.Name())
	}
	return found, nil
}
