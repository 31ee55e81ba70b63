"""Warnings about a model, a table or an explainer, by their codes in the contract."""

from enum import Enum

from onnxplain_server.core.warnings.declaration import (
    ALL,
    LOSSES,
    Tells,
    WarningDeclaration,
    WarningSection,
)


class InputWarning(Enum):
    """Warning about what a request brings."""

    INCONSISTENT_MODEL = WarningDeclaration(
        WarningSection.MODEL,
        cause="The model predicts the same row differently, and the request allows this",
        remedy="Use the numbers for this run only; none is cached",
        silences=ALL,
    )
    INCONSISTENT_ELSEWHERE = WarningDeclaration(
        WarningSection.MODEL,
        cause="The model is deterministic on rows of the table, but not on synthetic rows",
        remedy="None if your data resemble the table; the message has the size of the difference",
    )
    ROW_BY_ROW = WarningDeclaration(
        WarningSection.MODEL,
        cause="The model takes one row at a time, or a fixed number, or mixes the rows of a call",
        remedy="Export it with a symbolic batch dimension, unless it mixes rows",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    LABELS_ONLY = WarningDeclaration(
        WarningSection.MODEL,
        cause="The model returns class labels without scores",
        remedy="Export it with probabilities",
        silences=ALL,
    )
    OUTPUT_LEFT_OUT = WarningDeclaration(
        WarningSection.MODEL,
        cause="An output of the model has more than rows and columns, beside others that have not",
        remedy="None if the others are what you mean; else export it as (rows, columns)",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    OUTPUT_REFUSED = WarningDeclaration(
        WarningSection.MODEL,
        cause=(
            "onnxruntime refuses the model as it is, but accepts it without the outputs that are "
            "not explained, such as labels. They may fail on synthetic rows, or have a wrong "
            "declared type"
        ),
        remedy="Fix the export before you serve it elsewhere",
    )
    NATIVE_FILE_READING = WarningDeclaration(
        WarningSection.MODEL,
        cause=(
            "A [native tree file](native-files.md) could be read in another way, such as with or "
            "without the rounds after the best one; the message says which way was taken"
        ),
        remedy="Save the model as you mean it, if that is the other way",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    REMOTE_MODEL_REPLACED = WarningDeclaration(
        WarningSection.MODEL,
        cause=(
            "A [remote model](remote-models.md) gives other answers than under the same `identity` "
            "before; nothing of the earlier numbers was used"
        ),
        remedy="State another identity for another model",
    )
    TREES_DISAGREE = WarningDeclaration(
        WarningSection.MODEL,
        cause=(
            "The trees read from the model differ from its predictions, so the "
            "[engine](engines.md) is `BLACK_BOX`"
        ),
        remedy="Report it, with the model",
    )
    PREDICTIONS_DIFFER = WarningDeclaration(
        WarningSection.MODEL,
        cause=(
            "The model predicts otherwise than `expected_prediction_columns` have it, by more than "
            "rounding, so that what is explained may be another model than yours; the message has "
            "the [likely cause](checking.md)"
        ),
        remedy="Write the model again, or order its columns, as the message says",
    )
    COLUMNS_BY_POSITION = WarningDeclaration(
        WarningSection.TABLE,
        cause=(
            "A matrix of the model has no feature names, or such as do not tell each column (the "
            "message says which is empty or there twice, or how many there are), or nobody tells "
            "the inputs of a [remote model](remote-models.md); so the table's order decides. "
            "Reports tell it at their end where names say nothing else and the count agrees"
        ),
        remedy=(
            "Check the columns in the message, and set `feature_columns`, or `input_columns` for a "
            "model of several inputs"
        ),
    )
    UNCLEAR_TARGET = WarningDeclaration(
        WarningSection.TABLE,
        cause=(
            "An overview has no losses: its target may be the true values of any of several outputs"
        ),
        remedy="Choose the output in `outputs`, or give a column for each in `target_columns`",
    )
    FAR_FROM_TARGET = WarningDeclaration(
        WarningSection.TABLE,
        cause=(
            "The loss or score is no better than that of a constant prediction, and no other of "
            "its task is, beyond its standard error: squared and absolute error; for classes "
            "squared error, log loss and the area under the ROC curve"
        ),
        remedy="Check for swapped columns, other units or another target",
        silences=LOSSES,
    )
    REVERSED_RANKING = WarningDeclaration(
        WarningSection.TABLE,
        cause=(
            "The score of a ranking is below that of a random order, and the rows of queries are "
            "ordered the other way round, beyond three standard errors"
        ),
        remedy="Turn the target round, or explain minus the prediction",
        silences=("permutation_importance",),
    )
    TARGET_AS_NUMBERS = WarningDeclaration(
        WarningSection.TABLE,
        cause="Without a model, a target of 3 to 20 different whole numbers was taken as a number",
        remedy="If they are codes of classes, set `one_hot_target` to true",
        silences=(
            "feature_vectors",
            "firm",
        ),
    )
    INFINITE_VALUES = WarningDeclaration(
        WarningSection.TABLE,
        cause="A feature has infinite values; the message has the first rows and their number",
        remedy="Replace them, or leave these rows out, if they stand for something else",
    )
    DURATIONS_IN_SECONDS = WarningDeclaration(
        WarningSection.TABLE,
        cause="A column holds durations, which are read as numbers of seconds",
        remedy="Send numbers in the unit that the model was trained on, if that is another",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    CORRELATED_FEATURES = WarningDeclaration(
        WarningSection.TABLE,
        cause=(
            "An overview has curves of features that go together with others: correlations of 0.7 "
            "and more, or −0.7 and less"
        ),
        remedy=(
            "Read surfaces of both, or curves of [groups](methods/partial-dependence.md) of "
            "features"
        ),
        tells=Tells.SENTENCE,
    )
    ONE_HOT_COLUMNS = WarningDeclaration(
        WarningSection.TABLE,
        cause=(
            "Columns of 0 and 1 whose names begin alike, exactly one of which is 1 in each row, "
            "are counted singly by a method that could count them as one feature"
        ),
        remedy=(
            "Ask again with the [groups](methods/interactions.md#groups-of-features) that the "
            "message and `Warning.suggested_groups` have, for one bar per category"
        ),
        tells=Tells.HOW_IT_WAS_MADE,
    )
    SINGLE_TEXTS = WarningDeclaration(
        WarningSection.TABLE,
        cause="Most rows of a feature have a text of their own, so an overview has no curve of it",
        remedy=("Measure words by [FIRM](methods/firm.md#features): `contains(review, 'great')`"),
        tells=Tells.SENTENCE,
    )
    CONSTANT_FEATURE = WarningDeclaration(
        WarningSection.TABLE,
        cause="A feature has one value in the whole table",
        remedy="Add rows in which it varies",
    )
    BUDGET_REDUCED = WarningDeclaration(
        WarningSection.TABLE,
        cause="Methods use fewer rows or repetitions, to stay within the [budget](budgets.md)",
        remedy="Raise the budget",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    OVERVIEW_REDUCED = WarningDeclaration(
        WarningSection.TABLE,
        cause=(
            "An overview uses fewer rows, shuffles or points, or leaves a method out, to stay "
            "within its [budget](budgets.md)"
        ),
        remedy="Raise `budget_seconds`, or name the methods",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    ROWS_DRAWN = WarningDeclaration(
        WarningSection.TABLE,
        cause=(
            "Only a sample of the rows was used; each explanation reports its number, weight and "
            "seed"
        ),
        remedy="Raise `row_count`",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    ROWS_NOT_CLUSTERED = WarningDeclaration(
        WarningSection.TABLE,
        cause=(
            "A request names `cluster_column`, and some of its methods draw no replicates of the "
            "rows: their numbers, and their standard errors, are as without it"
        ),
        remedy=(
            "Set `repeat_count` of interactions, partial dependence, accumulated local effects, "
            "average loss or FIRM; [other methods](studies/intervals.md#clusters) have no "
            "replicates of the rows"
        ),
        tells=Tells.HOW_IT_WAS_MADE,
    )
    TABLE_STREAMED = WarningDeclaration(
        WarningSection.TABLE,
        cause=(
            "The table would need more than `--memory-bytes` (of a server: the setting "
            "`memory_bytes`), or a cluster computes, and it was [read in blocks](scaling.md): some "
            "methods use all rows of sums over trees, everything else at most 65,536 rows"
        ),
        remedy="Raise `--memory-bytes` for exact numbers of other methods",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    INTERACTIONS_NOT_COMPUTED = WarningDeclaration(
        WarningSection.EXPLAINERS,
        cause=(
            "An [explainer](platforms/kserve.md) has not computed the interactions of its model "
            "yet, or could not"
        ),
        remedy="Ask again later, or see the message",
    )
    INTERACTIONS_KEPT = WarningDeclaration(
        WarningSection.EXPLAINERS,
        cause="An explainer of a predictor has computed them when it started",
        remedy="Restart the explainer if the predictor was replaced",
    )
