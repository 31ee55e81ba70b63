"""Forms that Python takes instead of the contract's, where they are more convenient; and examples.

The functions that write them stand in clients/python/onnxplain/requests/forms.py.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """Python form of a field.

    Attributes
    ----------
    annotation, default, kind : str
        As of `Argument`.
    expression : str
        Writes the field; {0} is the argument, {1} its name, {2} what stands before arguments.
    text : str
        Description instead of the contract's.
    note : str
        Behind the description.
    beside : tuple of str
        Fields, as "Message.field", that are arguments beside this one.
    """

    annotation: str
    default: str
    kind: str
    expression: str = "{0}"
    text: str = ""
    note: str = ""
    beside: tuple[str, ...] = ()


GROUP_NOTE = ' "age" stands by itself, ("age", "bmi") together.'

_GRIDS = (
    " Values for one feature; a mapping of feature to values for several, where the i-th values "
    "together are the i-th point; None for a laid grid."
)

FLATTENED = frozenset({"FirmBackground"})
"""Messages whose fields are arguments in the place of the message."""

FORMS = {
    "AttributionsOptions.explained_rows": Form(
        "Any | None",
        "None",
        "pandas or polars frame, Arrow table, mapping, optional",
        'to_columns({0}, "{1}")',
        note=" A mapping gives the values of each feature as a list.",
    ),
    "PartialDependenceOptions.grids": Form(
        "Sequence[Any]",
        "()",
        "sequence, one entry per entry of `features`",
        "to_grids({0}, features={2}features)",
        note=_GRIDS,
    ),
    "IndividualConditionalExpectationOptions.grids": Form(
        "Sequence[Any]",
        "()",
        "sequence, one entry per entry of `features`, then of `joint_features`",
        "to_grids({0}, features={2}features, joint_features={2}joint_features)",
        note=_GRIDS,
    ),
    "IndividualConditionalExpectationOptions.joint_features": Form(
        "Sequence[Sequence[str]]",
        "()",
        "sequence of sequence of str",
        'to_groups({0}, "{1}")',
    ),
    "FirmSequences.weights": Form(
        "Mapping[tuple[str, int], float] | None",
        "None",
        "mapping of (str, int) to float, optional",
        "to_weights({0}, {2}constant)",
        "Weight of each string at each position, counted from 0: the score, instead of a model.",
        beside=("FirmKmerWeights.constant",),
    ),
    "ExplainRequest.class_labels": Form(
        "Sequence[str | float]", "()", "sequence of str or number", "to_labels({0})"
    ),
    "ExplainRequest.prediction": Form(
        "str | Sequence[str]", "()", "str or sequence of str", "to_expressions({0})"
    ),
    "ExplainRequest.model_name": Form(
        "str",
        '""',
        "str",
        "to_model_name({0}, model)",
        "What titles of plots and reports call the model. Changes no number. Default: the name of "
        "its file, where `model` is a path, or was one when it was uploaded.",
    ),
    "ExplainRequest.outputs": Form(
        "str | Sequence[str]", "()", "str or sequence of str", "to_output_names({0})"
    ),
    "ExplainRequest.feature_columns": Form(
        "Sequence[str]",
        "()",
        "sequence of str",
        'to_names({0}, "{1}")',
        note=" For an array: the names of its columns.",
    ),
    "ExplainRequest.input_columns": Form(
        "Mapping[str, Sequence[str]] | None",
        "None",
        "mapping of str to sequence of str, optional",
        "to_input_columns({0})",
    ),
    "ExplainRequest.reference": Form(
        "Any",
        "None",
        "Explanations or Reference, optional",
        "to_reference({0})",
        "A kept answer, made with `replicates`, that this one is compared with, in "
        "`Explanations.comparison`. Methods with their options, row_count and seed default to "
        "those of the reference; other methods, or another seed, are refused. Default: none.",
    ),
    # These have no default, and stand before the others.
    "ExplainRequest.model": Form(
        "Any",
        "",
        "path, bytes, onnx.ModelProto, or what `upload_model` returned",
        "None if {0} is None else to_model({0})",
        "None if no method needs one: feature vectors and FIRM of labels, and sequences that bring "
        "weights. Also a fitted model of scikit-learn, with a table in memory and skl2onnx "
        "installed: it is written as ONNX, compared on up to 1,000 rows of the table, and a "
        "warning tells the difference.",
    ),
    "ExplainRequest.table": Form(
        "Any",
        "",
        "path, pandas or polars frame, Arrow table, mapping, 2-D array, ...",
        'None if {0} is None else to_table({0}, to_names(feature_columns, "feature_columns"))',
        "See `onnxplain.tables.to_table`; or what `upload_table` returned. None for methods that "
        "need none.",
    ),
    "ExplainRequest.methods": Form(
        "Method | str",
        "",
        "Interactions, PartialDependence, PermutationImportance, ..., or str",
        "[to_method(method) for method in {0}]",
        'Options, or names like "interactions" for default options; in any number. They share the '
        "rows and the predictions. Without any: an overview, that is, losses and importances where "
        "there is a target, the strongest interactions, and curves of the most important features.",
    ),
}
"""By message and field."""

EXAMPLES = {
    "AccumulatedLocalEffects": [
        '>>> onnxplain.AccumulatedLocalEffects(features=["age"], repeat_count=200)'
    ],
    "Interactions": [">>> onnxplain.Interactions(pairwise_feature_count=3)"],
    "PartialDependence": [
        '>>> onnxplain.PartialDependence(features=["age", ("age", "bmi")], grid_size=30)'
    ],
    "IndividualConditionalExpectation": [
        '>>> onnxplain.IndividualConditionalExpectation(features=["age"], centered=True)'
    ],
    "PermutationImportance": [
        '>>> onnxplain.PermutationImportance(features=["age", ("age", "bmi")], loss="GAMMA")'
    ],
    "AverageLoss": ['>>> onnxplain.AverageLoss(loss="LOGLOSS", group_column="region")'],
    "FeatureVectors": [
        '>>> client.explain("forest.onnx", None, onnxplain.FeatureVectors())',
    ],
    "Firm": ['>>> onnxplain.Firm(features=["age", "age > 40 and not smoker"], repeat_count=200)'],
    "FirmSequences": [
        '>>> weights = {("GAT", 35): 0.4, ("TAC", 38): 0.3}',
        '>>> sequences = onnxplain.FirmSequences(weights=weights, motifs=["GATTACA"])',
        ">>> client.explain(None, None, onnxplain.Firm(sequences=sequences))",
    ],
    "Attributions": ['>>> onnxplain.Attributions(row_indices=[3, 17], groups=[("lat", "lon")])'],
    "Swarm": ['>>> onnxplain.Swarm(search="PUBLISHED", restart_count=10)'],
}
"""By class."""
