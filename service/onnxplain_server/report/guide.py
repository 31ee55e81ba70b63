"""What each method answers, and when not to rely on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guide:
    """Words around the results of one method.

    Attributes
    ----------
    title : str
    question : str
        What the method answers.
    limits : tuple of str
        When not to rely on it, a sentence each.
    """

    title: str
    question: str
    limits: tuple[str, ...]


_EXTRAPOLATES = (
    "With correlated features the model is asked about combinations that do not occur, and "
    "extrapolates there."
)
_DRAWN = "The numbers are those of the rows used: other rows give somewhat other numbers."

_GUIDES = {
    "interactions": Guide(
        "Interactions",
        "Which features act together, and how strongly?",
        (
            _EXTRAPOLATES + " Shares above 1 are a sign of it.",
            "The share of a weak pair is a ratio of two small numbers: compare pairs by size.",
            "On probabilities, effects that add up as scores interact: ask for the scale MARGIN.",
            _DRAWN,
        ),
    ),
    "partial_dependence": Guide(
        "Partial dependence",
        "How does the average prediction change with a feature, or with several together?",
        (
            _EXTRAPOLATES + " Ticks under a curve are values in the table.",
            "An average can hide that rows go up and down: look at curves of single rows.",
            "Groups are other rows, which differ in other features too.",
        ),
    ),
    "individual_conditional_expectation": Guide(
        "Curves of single rows",
        "How does the prediction of each row change with a feature, while the rest of the row "
        "stays as it is?",
        (
            _EXTRAPOLATES,
            "Curves that are not parallel show an interaction, but not with which feature.",
            "Curves are drawn for some rows; rare ones may be missing.",
        ),
    ),
    "permutation_importance": Guide(
        "Permutation importance",
        "How much worse do predictions get when a feature's values are shuffled?",
        (
            "Features that stand in for each other look unimportant, unless shuffled together.",
            "Shuffling makes rows that do not occur, where a model may be wrong in its own way.",
            "On rows used in training, what was learned by heart looks important.",
        ),
    ),
    "average_loss": Guide(
        "Average loss",
        "How far are predictions from the true values, and for whom?",
        (
            "On rows used in training the loss is too small.",
            "Groups differ in how hard they are to predict: a larger loss alone is no unfairness.",
            "The average of a small group is one of few rows.",
        ),
    ),
    "feature_vectors": Guide(
        "Feature vectors",
        "Which features matter, and which could stand in for each other?",
        (
            "Directions compare with which others features are combined; they are no correlations.",
            "Boosted trees use the best of several features that say the same: ask for SURROGATE.",
            "Two dimensions hold only the share of the counts that is told as explained variance.",
        ),
    ),
    "firm": Guide(
        "Feature importance ranking measure",
        "How far does any feature move the expected score, even one that the model never saw?",
        (
            "It tells what goes along with a feature, and not what changing it would do.",
            "Bins of few rows are noisy: trust rankings only as far as intervals are apart.",
            "Each estimator is blind to something; the name beside a number says which was used.",
        ),
    ),
    "swarm": Guide(
        "Swarm",
        "How far must a feature be moved before the model breaks, and which class does it then "
        "predict?",
        (
            "A stress test: all rows of a class are moved at once, to values that may not occur.",
            "Importance has no meaning outside this test: its unit is score times weight.",
            "Multiplying moves large values further than small ones: GAUSSIAN moves all alike.",
            "A search that tries weights can miss an effect: look at how many restarts agree.",
        ),
    ),
}


def of_method(method: str) -> Guide:
    """Return the words for a method; of one that is not known here, only its name."""
    title = method.replace("_", " ").capitalize() or "Explanation"
    return _GUIDES.get(method, Guide(title, "", ()))
