package onnxplain

import (
	"context"
	"errors"

	"github.com/onnxplain/onnxplain/clients/go/onnxplainv1"
)

// CompareExplanations compares two answers that were kept, each made with
// replicates: what has changed, and which rules of the reference hold. It
// explains nothing; to explain and compare at once, give an ExplainRequest its
// Reference.
func (c *Client) CompareExplanations(
	ctx context.Context, request *onnxplainv1.CompareExplanationsRequest,
) (*onnxplainv1.ExplanationComparison, error) {
	if request.GetReference() == nil || request.GetAnswer() == nil {
		return nil, errors.New("onnxplain: a comparison needs a reference and an answer")
	}
	found, err := persist(ctx, c, newAttempts(c.settings.retries),
		func(ctx context.Context) (*onnxplainv1.CompareExplanationsResponse, error) {
			return c.service.CompareExplanations(ctx, request)
		})
	return found.GetComparison(), err
}
