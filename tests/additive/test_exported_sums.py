"""Sums of terms that skl2onnx writes in its own way: naive Bayes, machines of a linear kernel."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.adapters.onnx import load
from onnxplain_server.additive.check import check_terms
from onnxplain_server.additive.model import AdditiveModel, TermLink
from onnxplain_server.core.rows import Features, feeds
from onnxplain_server.effects.background import unmerged
from skl2onnx import to_onnx
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVR

N_ROWS, WIDTH = 40, 3
ROWS = np.random.default_rng(0).normal(size=(N_ROWS, WIDTH)).astype(np.float32)
TARGET = ROWS[:, 0] + np.abs(ROWS[:, 1])


def read(fitted):
    """Return a loaded model, its sums of terms, and rows."""
    model = load(to_onnx(fitted, ROWS[:1]).SerializeToString())
    assert isinstance(model.additive, AdditiveModel), model.additive
    columns = tuple(ROWS.T.astype(float))
    features = Features(("a", "b", "c"), columns, (np.dtype(np.float32),) * WIDTH, "X")
    background = unmerged(features, np.ones(N_ROWS), np.arange(N_ROWS))
    assert check_terms(model.additive, model, background) is None
    sums = model.additive.front(feeds(features, background.columns)) @ model.additive.sums.matrix.T
    return model.additive, model.additive.outputs(sums + model.additive.sums.offset)


@pytest.mark.parametrize("classes", [2, 3])
def test_naive_bayes_is_a_softmax_of_sums(classes: int) -> None:
    labels = np.digitize(TARGET, np.quantile(TARGET, np.arange(1, classes) / classes))
    fitted = GaussianNB().fit(ROWS, labels)
    additive, outputs = read(fitted)
    assert additive.link is TermLink.SOFTMAX
    np.testing.assert_allclose(outputs, fitted.predict_proba(ROWS), rtol=0, atol=1e-5)


def test_a_support_vector_machine_of_a_linear_kernel_is_a_sum() -> None:
    fitted = SVR(kernel="linear").fit(ROWS, TARGET)
    additive, outputs = read(fitted)
    assert additive.link is TermLink.IDENTITY
    np.testing.assert_allclose(outputs[:, 0], fitted.predict(ROWS), rtol=0, atol=1e-5)
