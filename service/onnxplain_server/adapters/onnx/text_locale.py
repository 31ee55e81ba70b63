"""Locale of StringNormalizer: one that every system has, and that changes case alike.

onnxruntime asks the C library for en_US.UTF-8 where a model names no locale, and refuses the model
where that is not installed, as in most container images. `CASE_LOCALE` changes case alike.
"""

from __future__ import annotations

from onnx import ModelProto, helper

from onnxplain_server.core.systems.locales import CASE_LOCALE
from onnxplain_server.trees.reading.onnx_nodes import attribute, nodes_within

_REPLACED = {"", "en_US", "en_US.UTF-8"}


def use_known_locale(model: ModelProto) -> None:
    """Replace the default locale of a model's operators, in place, where another is known."""
    if not CASE_LOCALE:
        return
    for node in nodes_within(model.graph):
        if node.op_type != "StringNormalizer" or attribute(node, "locale", "") not in _REPLACED:
            continue
        others = [given for given in node.attribute if given.name != "locale"]
        del node.attribute[:]
        node.attribute.extend([*others, helper.make_attribute("locale", CASE_LOCALE)])
