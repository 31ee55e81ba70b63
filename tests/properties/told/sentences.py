"""Checker of sentences: each number, name and superlative of a summary beside the answer itself.

A sentence is read by a pattern of its whole text, and holds where an explanation of the answer has
what it says. A sentence that no pattern reads is a fault too: nobody would check it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation
from onnxplain_server.cli.output import overview, tables
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.report import facts, page, summary
from onnxplain_server.report.output_names import target_of, with_output_names
from told import attribution_claims, effect_claims, leading_claims, loss_claims, swarm_claims
from told.plot_claims import faults_of_plot
from told.written import NUMBER, Match, all_outputs, are_outputs


class Template(NamedTuple):
    """A pattern of a whole sentence, and whether an explanation has what it says."""

    pattern: str
    holds: Callable[[Match, Explanation], bool]


_OF, _FOR = r"(?: of (?P<output>.+?))?", r"(?: for (?P<output>.+?))?"
_UNIT = (
    r"(?: \((?:units of (?P<unit>.+?)|probability(?: of .+?)?)\)|(?P<points> percentage points))"
)
_LINK = r"(?:; the link alone makes it, .*)?"
_ROWS = r"(?: \((?P<rows>[\d,]+) of the rows\))?\."
_A, _B, _BEFORE = (rf"(?P<{name}>{NUMBER})" for name in ("a", "b", "before"))
_A_TO_B = rf"{_A}(?: to {_B})?"
_SHUFFLING = r"Shuffling (?P<names>.+?)(?:, in one shuffle,)? worsens predictions most: "
_TIMES, _ALIKE = r"(?: times its value before)?", r"(?:, which shuffles cannot tell apart)?"
_ALONG = (
    rf"Along (?P<names>.+?)(?:, whose curve has the widest range,)? the average prediction{_OF}"
    r"(?: in the group (?P<group>.+))?"
)
_FIRST, _LAST = (rf"(?P<{name}>(?:almost )?\S+)" for name in ("first", "last"))
_SDS = "(?:a standard deviation|standard deviations)"
_MOVED = (
    r"(?:Scaling by (?P<weight>\S+) the values of|"
    r"Adding noise of (?P<noise>\S+) standard deviations to)"
)

_TEMPLATES = tuple(Template(pattern, holds) for pattern, holds in (
    ((rf"R² is (?P<r2>{NUMBER}): the root mean squared error of (?P<of>.+) is {_A}, that of its "
      rf"mean {_B}\."), loss_claims.r_squared),
    ((rf"(?P<name>.+) is {_A}; that of (?P<yardstick>the best constant prediction|a random order) "
      rf"is {_B}\."), loss_claims.beside_constant),
    ((rf".+? for (?P<output>.+) is {_A}, the (?P<worst>highest|lowest) of all outputs\."),
     loss_claims.only_loss),
    (rf".+ is {_A} for (?P<worst>each) output\.", loss_claims.only_loss),
    ((rf".+ is {_A} for .+, and (?P<worst>lower|higher) for the other outputs\."),
     loss_claims.only_loss),
    (rf".+ is {_A}\.", loss_claims.alone),
    ((r"Neither model nor table tells whether the model was trained on (?:this row|these "
      r"(?P<rows>[\d,]+) rows); if it was, it looks better here than on new rows\."),
     loss_claims.maybe_trained),
    (rf".+?{_FOR} goes from {_A} for (?P<g>.+) to {_B} for (?P<h>.+)\.", loss_claims.groups),
    (rf".+?{_FOR} is {_A} for each group\.", loss_claims.groups),
    ((rf"{_SHUFFLING}an? .+?{_FOR} by {_A_TO_B}{_TIMES}{_ALIKE}, from {_BEFORE} before{_ROWS}"),
     loss_claims.shuffled),
    ((rf"{_SHUFFLING}the root mean squared error{_FOR} rises from {_BEFORE} to "
      rf"(?:values from )?{_A_TO_B}{_UNIT}{_ALIKE}{_ROWS}"), loss_claims.shuffled_root),
    (rf"Shuffling no feature makes the .+ worse{_ROWS}", loss_claims.no_harm),
    ((rf"Shuffling no feature makes the .+?{_FOR} worse by more than two standard errors: by {_A}"
      rf"{_TIMES} at most{_ROWS}"), loss_claims.no_harm),
    ((rf"(?P<names>.+) (?P<kind>moves predictions most), right or wrong: by a "
      rf"standard deviation of {_A}"
      rf"(?P<b>)?{_UNIT}{_FOR}\."), effect_claims.statistics),
    ((rf"(?P<names>.+) (?P<kind>move predictions most), right or wrong, and cannot be told "
      rf"apart: {_SDS} of {_A_TO_B}{_UNIT}{_FOR}\."), effect_claims.statistics),
    ((rf"(?P<names>.+) (?P<kind>is the strongest interaction of .+): it has a standard deviation "
      rf"of {_A}"
      rf"(?P<b>)?{_UNIT}{_FOR}{_LINK}\."), effect_claims.statistics),
    ((rf"(?P<names>.+) (?P<kind>are the strongest interactions of .+), and cannot be told apart: "
      rf"{_SDS} of {_A_TO_B}{_UNIT}{_FOR}{_LINK}\."), effect_claims.statistics),
    ((r"None of .+, interacts\.|No pair of features interacts\.|"
      r"No interaction of .+ is above 0 beyond its error\."), effect_claims.no_pair),
    ((rf"{_ALONG} is(?P<way>) lowest, {_FIRST} at (?P<there>.+), and highest, {_LAST} at "
      r"(?P<then>.+)\."), effect_claims.curve),
    ((rf"{_ALONG} (?P<way>(?:rises|falls)(?: on the whole,)?) from {_FIRST} at (?P<there>.+) to "
      rf"{_LAST} at (?P<then>.+)\."), effect_claims.curve),
    ((r"Of the rows moved along (?P<names>.+?)(?: in the group (?P<group>.+))?, (?P<share>.+?%) "
      r"combine values that the table lacks(?:, mostly with (?P<partner>.+))?\."),
     effect_claims.outside),
    (r"No feature asked about moves the average prediction\.", effect_claims.flat_curves),
    ((rf"Along (?P<names>.+?) the accumulated effect on (?P<output>.+?)(?: in the group "
      rf"(?P<group>.+))? (?P<verb>rises|falls) by {_A} from (?P<there>.+) to (?P<then>.+), over "
      r"rows as they occur\."), effect_claims.accumulated),
    ((rf"What (?P<names>.+?) do together to (?P<output>.+?)(?: in the group (?P<group>.+))?, "
      rf"beyond the effects of each, is {_A} more at (?P<then>.+) than at (?P<there>.+), over rows "
      r"as they occur\."), effect_claims.accumulated),
    (r"The accumulated effect does not change along .+\.",
     effect_claims.flat_accumulated),
    ((rf"As (?P<names>.+) moves and the rest of a row stays, its prediction{_OF} changes by {_A} "
      rf"\(median over (?P<rows>[\d,]+) rows\), at most by {_B}\."), effect_claims.rows_of_curves),
    ((rf"The expected score{_OF} moves most along (?P<names>.+?)(?:, which cannot be told apart)?: "
      rf"its standard deviation is {_A_TO_B}\."), effect_claims.firm),
    (rf"The expected score{_OF} moves along no feature by more than its error\.",
     effect_claims.firm),
    (r"(?P<names>.+) has the longest feature vector\.", effect_claims.vectors),
    (r"(?P<names>.+) have the longest feature vectors, and cannot be told apart\.",
     effect_claims.vectors),
    (r".+ could stand in for each other .+", effect_claims.stand_in),
    ((rf"{_MOVED} (?P<names>.+) (?P<verb>raises|lowers) (?P<measured>[a-zA-Z1 ]+?)"
      rf"(?: most|, and no other move more): {_A} in place of {_BEFORE}"
      r"(?:; (?P<share>.+?%) of the moved values leave the data)?; a stress test on made-up "
      r"rows, which are no real persons or things\."), swarm_claims.moved),
    (r"No move of a feature makes predictions worse\.", swarm_claims.unharmed),
    ((rf"(?P<row>Row [\d,]+|Given row \d+|The given row) has a prediction{_OF} of {_A}, "
      rf"(?:(?P<d>{NUMBER}) (?P<side>above|below)|no different from) the average of {_B}(?:, "
      r"mostly by |; the largest Banzhaf values are those of |; no feature has a part in it"
      r"(?: beyond its error)?)"
      r"(?P<reasons>.+)?\."),
     attribution_claims.reasons),
    ((r"(?P<names>.+) has the largest (?P<estimated>estimated )?(?P<kind>\w+) values: a mean "
      rf"absolute value of {_A}{_UNIT}{_FOR} over (?:(?P<rows>[\d,]+) rows|the rows explained, "
      r"by their weights)\."), attribution_claims.sizes),
))  # fmt: skip


def faults_of_sentences(answer: ExplainResponse, *, with_page: bool = True) -> Iterator[str]:
    """Tell the sentences of an answer that are untrue, or that page and terminal leave out."""
    named = with_output_names(answer)
    sentences = summary.of_answer(named)
    yield from (f"untrue: {s}" for s in sentences if not is_true(s, named))
    for form in (overview, tables):
        text = _words(form.of_response(answer, to_terminal=False))
        if not text.startswith(_words(" • ".join(sentences))):
            yield f"the terminal begins otherwise: {text[:200]}"
    for explanation in named.explanations:
        for plot in explanation.plots:
            yield from faults_of_plot(
                explanation, plot.name, plot.description, are_probabilities=may_be_points(named)
            )
    if with_page:
        shown = _words(html.unescape(re.sub(r"<[^>]*>", "", page.of_response(answer))))
        own = [s for s in sentences if s not in summary.in_warnings(named)]
        yield from (f"not on the page: {s}" for s in own if _words(s) not in shown)


def is_true(sentence: str, answer: ExplainResponse) -> bool:
    """Tell whether an answer, with its names for reports, has what a sentence says."""
    about = r"(.+) predicts (.+); it is explained on ([\d,]+)(?: to ([\d,]+))? rows?\."
    if found := re.fullmatch(about, sentence):
        return _is_about(found, answer)
    stopped = r"(?:.+: not|Nothing is) summed up, because of the warnings? (.+)\."
    if found := re.fullmatch(stopped, sentence):
        codes = re.split(r", | and ", found[1])
        return {*codes} <= {caution.code for caution in facts.warnings(answer)}
    if sentence.startswith(("It is ", "It takes ")):
        return sentence == answer.model.summary
    if sentence.startswith("Correlated features: "):
        return sentence in [caution.message for caution in facts.warnings(answer)]
    for pattern, of_answer in (
        (leading_claims.PATTERN, leading_claims.lead),
        (attribution_claims.BESIDE_SHUFFLING, attribution_claims.beside_shuffling),
    ):
        if found := re.fullmatch(pattern, sentence):
            return of_answer(found, answer)
    read = [(re.fullmatch(one.pattern, sentence), one.holds) for one in _TEMPLATES]
    has_unit = " percentage points" not in sentence or may_be_points(answer)
    return has_unit and any(
        holds(found, explanation)
        for found, holds in read
        if found
        for explanation in answer.explanations
    )


def may_be_points(answer: ExplainResponse) -> bool:
    """Tell whether sizes are told in percentage points, as probabilities of classes are explained.

    A link makes them, or a log loss of outputs within 0 and 1 was chosen.
    """
    model, receipt = answer.model, answer.receipt
    if not model.has_class_scores or receipt.scale == 2 or receipt.prediction:
        return False
    methods = ("average_loss", "permutation_importance")
    losses = {getattr(e.options, m).loss for e in answer.explanations for m in methods
              if e.options.WhichOneof("method") == m}  # fmt: skip
    return 2 in model.scales or bool(losses & {5, 6})


def _is_about(found: Match, answer: ExplainResponse) -> bool:
    """Check the name of the model, its outputs, and the counts of rows."""
    counts = [e.rows.used_row_count for e in answer.explanations if e.HasField("rows")]
    ends = [f"{min(counts):,}", f"{max(counts):,}"] if counts else []
    name = clean(answer.receipt.model_name or "The model")
    told = _without_target(found[2], answer)
    is_named = any(are_outputs(told, names) for names in all_outputs(answer))
    return is_named and ends == [found[3], found[4] or found[3]] and found[1] == name


def _without_target(told: str, answer: ExplainResponse) -> str:
    """Return outputs without the target that their classes are said to be of; "" if it is wrong."""
    column = target_of(answer)
    if not column or not answer.model.has_class_scores or answer.receipt.prediction:
        return told
    target = clean(column)
    several, one = f" (classes of {target})", f" of {target}"
    if told.endswith(several):
        return told.removesuffix(several)
    if not told.endswith(one):
        return ""
    told = told.removesuffix(one)
    return told if re.fullmatch(r"class \d+", told) else told.removeprefix("class ")


def _words(text: str) -> str:
    """Join words, however lines are broken; the sign before each sentence stands alone."""
    return " ".join(text.replace("•", " • ").split())
