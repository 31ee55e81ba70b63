"""Splits of CatBoost's trees: comparisons that send a value right where they hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onnxplain_server.adapters.native.catboost.features import FeatureTable, read_hash
from onnxplain_server.adapters.native.faults import quoted, unsupported
from onnxplain_server.adapters.native.fields import Fields
from onnxplain_server.adapters.native.forest import Feature
from onnxplain_server.trees.reading.nodes import Mode

LARGEST = float(np.finfo(np.float32).max)
"""Largest number of float32."""


class CatBoostSplit(NamedTuple):
    """Comparison of a node, in the terms of a forest's nodes."""

    column: int
    mode: Mode
    threshold: float
    true_is_right: bool
    missing_is_true: bool


class SplitReader:
    """Reader of splits, which collects the categories that they name.

    Parameters
    ----------
    table : FeatureTable
    """

    def __init__(self, table: FeatureTable) -> None:
        self._table = table
        self._codes: dict[int, dict[str, int]] = {
            feature.column: {} for feature in table.categorical.values()
        }

    def read(self, split: Fields) -> CatBoostSplit:
        """Read a split.

        Raises
        ------
        ExplainError
            INVALID_MODEL; UNSUPPORTED_MODEL for categories without their texts, and for statistics
            of the target by category.
        """
        kind = split.text("split_type", "FloatFeature")
        if kind == "FloatFeature":
            return self._border(split)
        if kind == "OneHotFeature":
            return self._category(split)
        if kind == "OnlineCtr":
            raise unsupported(
                "The model replaces categories by statistics of the target, which are not read. "
                "Train it with one_hot_max_size of at least the number of categories, or encode "
                "categories by numbers before."
            )
        raise unsupported(
            f"The model has splits of the type {quoted(kind)}, which are not read. Read are those "
            "of numbers and categories."
        )

    def features(self) -> tuple[Feature, ...]:
        """Return the features of the forest, with the categories of the splits so far."""
        return tuple(
            Feature(name, tuple(self._codes[column]) or ("",))
            if column in self._codes
            else Feature(name)
            for column, name in enumerate(self._table.names)
        )

    def _border(self, split: Fields) -> CatBoostSplit:
        number = split.integer("float_feature_index")
        if number not in self._table.numeric:
            raise split.fault("float_feature_index", f"is {number}, which no feature has")
        feature = self._table.numeric[number]
        border = split.number("border")
        if not abs(border) <= LARGEST:
            raise split.fault("border", f"is {border}, which is no number of float32")
        threshold = float(np.float32(border))
        return CatBoostSplit(
            feature.column, Mode.LEQ, threshold, False, not feature.missing_is_right
        )

    def _category(self, split: Fields) -> CatBoostSplit:
        number = split.integer("cat_feature_index")
        if number not in self._table.categorical:
            raise split.fault("cat_feature_index", f"is {number}, which no feature has")
        column = self._table.categorical[number].column
        key = read_hash(split, "value")
        if key not in self._table.texts:
            raise unsupported(
                "The model compares categories by their hashes, and the file does not have their "
                'texts. Save it with them: model.save_model(path, format="json", pool=POOL), where '
                "POOL is the Pool that the model was trained on."
            )
        codes = self._codes[column]
        code = codes.setdefault(self._table.texts[key], len(codes))
        return CatBoostSplit(column, Mode.EQ, float(code), True, False)
