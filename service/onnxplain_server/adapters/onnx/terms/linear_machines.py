"""Support vector machines with a linear kernel: a step of affine sums."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from onnxplain_server.adapters.onnx.terms.linear_steps import AffineSum, Coefficients, Passed
from onnxplain_server.adapters.onnx.terms.row_operator import RowOperator
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.onnx_nodes import Attributes, post_transform


def linear_machine(
    operator: RowOperator, dependence: Mapping[str, Array], own: Coefficients, found: AffineSum
) -> Passed:
    """Pass coefficients through an SVMRegressor; a `Step`.

    Raises
    ------
    ValueError
        If its kernel is not linear.
    """
    attributes, name = Attributes(operator.node), operator.node.input[0]
    kind = attributes.value("kernel_type", "LINEAR")
    if kind != "LINEAR" or post_transform(operator.node) != "NONE":
        raise ValueError(f"its SVMRegressor has the kernel {kind}, and is no sum")
    if attributes.value("one_class", 0):
        raise ValueError("its SVMRegressor gives classes")
    weights, (intercept,) = attributes.numbers("coefficients"), attributes.numbers("rho")
    vectors = attributes.numbers("support_vectors").reshape(len(weights), -1)
    if vectors.shape[1:] != dependence[name].shape:
        raise ValueError("its SVMRegressor has vectors of another length than its rows")
    found.offset += own.signed[:, 0] * intercept
    found.absolute_offset += own.absolute[:, 0] * abs(intercept)
    found.addition_count += sum(vectors.shape) + 2
    signed, size = weights @ vectors, np.abs(weights) @ np.abs(vectors)
    return [(name, Coefficients(own.signed * signed, own.absolute * size))]
