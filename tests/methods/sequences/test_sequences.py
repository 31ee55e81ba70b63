"""Strings at positions: by recursion, by enumeration of all sequences, and by sampling."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.methods import sequences
from onnxplain_server.methods.sequences import (
    ListedWeights,
    Options,
    SequenceModel,
    Setting,
    Weights,
)
from onnxplain_server.methods.sequences.background import MarkovChain, fit, uniform
from onnxplain_server.methods.sequences.kmers import code_of, mismatches, text_of, windows
from onnxplain_server.methods.sequences.poim import Poim

LENGTH = 6
ALL = np.array(list(product(range(4), repeat=LENGTH)))


def random_weights(longest: int, length: int = LENGTH, size: int = 4) -> Weights:
    random = np.random.default_rng(longest)
    ks = range(1, longest + 1)
    return Weights(tuple(random.normal(size=(length - k + 1, size**k)) for k in ks), length, 0.3)


def chain(order: int, size: int = 4) -> MarkovChain:
    random = np.random.default_rng(order)
    rows = size**order
    return MarkovChain(random.dirichlet(np.ones(rows)), random.dirichlet(np.ones(size), rows))


def score(letters: np.ndarray, weights: Weights, size: int = 4) -> np.ndarray:
    """Add weights up, string by string: slow and obvious."""
    total = np.full(len(letters), weights.constant)
    for k, table in enumerate(weights.tables, 1):
        for place in range(len(table)):
            codes = sum(letters[:, place + i] * size ** (k - 1 - i) for i in range(k))
            total += table[place][codes]
    return total


def probability(letters: np.ndarray, background: MarkovChain, size: int = 4) -> np.ndarray:
    """Multiply the probabilities of the letters, one after the other."""
    order = background.order
    found = []
    for sequence in letters.tolist():
        text = [0, *sequence[:order]]
        share = background.initial[int("".join(map(str, text)), size)]
        for place in range(order, len(sequence)):
            before = int("".join(map(str, [0, *sequence[place - order : place]])), size)
            share *= background.transitions[before, sequence[place]]
        found.append(share)
    return np.array(found)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("longest", [1, 2, 4])
def test_recursion_equals_enumeration_of_all_sequences(order: int, longest: int) -> None:
    weights, background = random_weights(longest), chain(order)
    scores, shares = score(ALL, weights), probability(ALL, background)
    mean = shares @ scores
    poim = Poim(weights, background)

    assert shares.sum() == pytest.approx(1)
    assert poim.mean == pytest.approx(mean)
    assert poim.deviation == pytest.approx(np.sqrt(shares @ (scores - mean) ** 2))
    for k in range(1, LENGTH + 1):
        codes = windows(ALL, k, 4)
        for position, column in enumerate(poim.columns(k)):
            p = np.bincount(codes[:, position], shares, 4**k)
            expected = np.bincount(codes[:, position], shares * scores, 4**k) / p
            assert column.probabilities == pytest.approx(p)
            assert column.differences == pytest.approx(expected - mean, abs=1e-12)
            # Equation 10, for whether the string is there.
            absent = (mean - p * expected) / (1 - p)
            firm = (expected - absent) * np.sqrt(p * (1 - p))
            assert column.importances == pytest.approx(firm, abs=1e-11)


def test_what_never_occurs_has_no_expected_score_and_importance_0() -> None:
    always = MarkovChain(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    weights = Weights((np.ones((4, 2)), np.ones((3, 4))), 4)

    column = Poim(weights, always).column(2, 0)

    assert column.probabilities.tolist() == [0, 1, 0, 0]
    assert np.isnan(column.differences).tolist() == [True, False, True, True]
    assert column.importances.tolist() == [0, 0, 0, 0]


def test_strings_are_numbered_in_the_order_of_the_alphabet() -> None:
    assert [text_of(code, 2, "ab") for code in range(4)] == ["aa", "ab", "ba", "bb"]
    assert [code_of(text, "ab") for text in ("aa", "ab", "ba", "bb")] == [0, 1, 2, 3]
    assert mismatches([0, 1], 2).tolist() == [1, 0, 2, 1]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_chain_is_fitted_to_what_it_gave(order: int) -> None:
    background = chain(order)
    letters = background.sample(40_000, LENGTH, np.random.default_rng(0))

    found = fit(list(letters), order, 4, pseudo_count=1.0)

    assert found.order == order
    assert found.transitions == pytest.approx(background.transitions, abs=0.03)
    assert found.initial == pytest.approx(background.initial, abs=0.03)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("position", [0, 2, 4])
def test_sequences_around_a_string_are_those_that_hold_it(order: int, position: int) -> None:
    background, random = chain(order), np.random.default_rng(1)
    planted = background.sample_around(np.tile([1, 3], (60_000, 1)), position, LENGTH, random)
    codes = windows(ALL, 2, 4)[:, position]
    shares = np.where(codes == code_of("CT", "ACGT"), probability(ALL, background), 0.0)
    shares /= shares.sum()

    found = np.bincount(windows(planted, LENGTH, 4)[:, 0], minlength=4**LENGTH) / 60_000

    # A standard error per sequence, summed in squares: chance gives about 1.
    assert (found[shares == 0] == 0).all()
    chance = shares[shares > 0] * (1 - shares[shares > 0]) / 60_000
    assert ((found - shares)[shares > 0] ** 2).sum() == pytest.approx(chance.sum(), rel=0.5)


@pytest.mark.parametrize("order", [0, 1])
def test_sampling_comes_near_the_recursion(order: int) -> None:
    weights, setting = random_weights(2, 8), Setting(chain(order), 8, ("y",))
    options = Options(max_length=2, motifs=("GAT",), sample_count=40_000)
    exact = sequences.from_weights([weights], setting, options, lambda: None)

    def ask(letters: np.ndarray) -> np.ndarray:
        return score(letters.astype(int), weights)[:, None]

    sampled = sequences.from_samples(ask, setting, options, seed=0)

    assert not sampled.is_exact
    assert sampled.means == pytest.approx(exact.means, abs=0.05)
    assert sampled.deviations == pytest.approx(exact.deviations, rel=0.03)
    for one, other in zip(sampled.kmers, exact.kmers, strict=True):
        assert one.standard_errors is not None
        away = (one.differences - other.differences) / one.standard_errors
        assert abs(np.nanmean(away)) < 0.5
        assert np.nanstd(away) == pytest.approx(1, abs=0.35)
    near, far = (result.motifs[0].mismatch_classes for result in (sampled, exact))
    assert [m.mismatch_count for m in near] == [0, 1, 2, 3]
    for here, there in zip(near, far, strict=True):
        assert here.differences == pytest.approx(there.differences, abs=0.5)
        assert here.difference_deviations == pytest.approx(there.difference_deviations, abs=0.5)


ONE_COMMON_LETTER = MarkovChain(np.ones(1), np.array([[0.9, 0.04, 0.04, 0.02]]))


def test_no_standard_error_is_told_of_a_handful_of_sequences() -> None:
    weights, setting = random_weights(1), Setting(ONE_COMMON_LETTER, LENGTH, ("y",))
    options, asked = Options(max_length=3, sample_count=4_000), []

    def ask(letters: np.ndarray) -> np.ndarray:
        asked.append(letters.astype(int))
        return score(asked[0], weights)[:, None]

    exact = sequences.from_weights([weights], setting, options, lambda: None)
    sampled = sequences.from_samples(ask, setting, options, seed=3)

    for one, truth in zip(sampled.kmers, exact.kmers, strict=True):
        assert one.standard_errors is not None
        codes = windows(asked[0], one.length, 4)
        held = np.stack([np.bincount(c, minlength=4**one.length) for c in codes.T], axis=1)
        known = np.isfinite(one.standard_errors[:, :, 0])
        assert (known == (held >= 20)).all()
        away = (one.differences - truth.differences)[known] / one.standard_errors[known]
        assert np.abs(away).max() < 5
    (note,) = [note for note in sampled.notes if note.code == "FEW_ROWS"]
    errors = [one.standard_errors for one in sampled.kmers if one.standard_errors is not None]
    unknown = sum(int(np.isnan(error).sum()) for error in errors)
    assert f"{unknown:,} of " in note.message


def test_standard_errors_of_common_letters_are_those_of_repeated_samples() -> None:
    """A letter in 9 of 10 sequences is most of the mean that it is compared with."""
    setting = Setting(ONE_COMMON_LETTER, 2, ("y",))
    options = Options(max_length=1, sample_count=4_000)

    def ask(letters: np.ndarray) -> np.ndarray:
        first = np.where(letters[:, :1] == 0, 0.0, 2.0)
        found: np.ndarray = first + letters[:, 1:].astype(float) ** 2
        return found

    runs = [
        sequences.from_samples(ask, setting, options, seed=seed).kmers[0] for seed in range(300)
    ]

    errors = np.mean([run.standard_errors for run in runs if run.standard_errors is not None], 0)
    assert np.std([run.differences for run in runs], axis=0) == pytest.approx(errors, rel=0.2)


def test_every_string_that_was_sampled_often_has_a_standard_error() -> None:
    setting = Setting(uniform(4), 3, ("y",))

    def ask(letters: np.ndarray) -> np.ndarray:
        return letters[:, :1].astype(float) ** 2

    found = sequences.from_samples(ask, setting, Options(max_length=2, sample_count=4_000), seed=0)

    errors = [one.standard_errors for one in found.kmers if one.standard_errors is not None]
    assert len(errors) == 2
    assert all(np.isfinite(error).all() for error in errors)
    assert [note.code for note in found.notes] == ["SEQUENCES_SAMPLED"]


def test_top_strings_are_the_largest_of_all_lengths() -> None:
    setting = Setting(uniform(4), LENGTH, ("y",))
    result = sequences.from_weights(
        [random_weights(2)], setting, Options(max_length=2, top_count=5), lambda: None
    )
    sizes = np.sort(np.abs(np.concatenate([k.importances.ravel() for k in result.kmers])))[::-1]

    assert [abs(top.importance) for top in result.top] == pytest.approx(sizes[:5])
    first = result.top[0]
    kmers = result.kmers[len(first.kmer) - 1]
    code = code_of(first.kmer, "ACGT")
    assert kmers.importances[code, first.position, 0] == first.importance


@pytest.fixture(scope="module")
def gattaca() -> tuple[np.ndarray, np.ndarray]:
    """The paper's toy data: GATTACA, one letter of it drawn anew, at N(35, 7) in half of all."""
    random = np.random.default_rng(11)
    letters = random.integers(0, 4, (1_600, 70))
    motif = np.array([code_of(letter, "ACGT") for letter in "GATTACA"])
    for row in letters[:800]:
        planted = motif.copy()
        planted[random.integers(7)] = random.integers(4)
        start = int(np.clip(round(random.normal(35, 7)), 0, 63))
        row[start : start + 7] = planted
    return letters, np.repeat([1.0, -1.0], 800)


@pytest.mark.slow
def test_raw_weights_of_long_strings_fail_where_firm_finds_the_motif(
    gattaca: tuple[np.ndarray, np.ndarray],
) -> None:
    """A machine on all strings of up to 7 letters gives those with mismatches random weights."""
    weights = trained(*gattaca, longest=7)
    options = Options(max_length=1, motifs=("GATTACA",))
    setting = Setting(uniform(4), 70, ("y",))

    found = (
        sequences.from_weights([weights], setting, options, lambda: None).motifs[0].mismatch_classes
    )

    core = slice(27, 44)
    motif, far = found[0], found[-1]
    assert 27 <= int(motif.differences[:, 0].argmax()) <= 43
    assert (motif.differences / far.difference_deviations)[core].mean() >= 3
    assert in_order([m.differences for m in found])[core].mean() > 0.9
    assert in_order([m.weights for m in found if m.weights is not None])[core].mean() < 0.3


def in_order(by_mismatches: list[np.ndarray]) -> np.ndarray:
    """Tell where the motif is above 1 mismatch, above 2 mismatches, above irrelevant strings."""
    numbers = [by_mismatches[count][:, 0] for count in (0, 1, 2, 7)]
    return np.asarray((np.diff(numbers, axis=0) < 0).all(axis=0))


def trained(letters: np.ndarray, labels: np.ndarray, longest: int) -> Weights:
    """Fit labels by ridge regression on all strings, by way of its kernel."""
    held = [windows(letters, k, 4).astype(np.int32) for k in range(1, longest + 1)]
    gram = np.zeros((len(letters), len(letters)), dtype=np.int16)
    for codes in held:
        for column in codes.T:
            gram += column[:, None] == column
    share = np.linalg.solve(gram + 100 * np.eye(len(letters)), labels)
    return Weights(
        tuple(
            np.stack([np.bincount(column, share, 4**k) for column in codes.T])
            for k, codes in enumerate(held, 1)
        ),
        letters.shape[1],
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (Options(alphabet="AA"), "none twice"),
        (Options(alphabet="A"), "2 to 64 letters"),
        (Options(max_length=11), "max_length"),
        (Options(sample_count=10), "sample_count"),
        (Options(background=SequenceModel(order=1)), "fitted to a column"),
        (Options(motifs=("GAX",)), "'X'"),
        (Options(motifs=("",)), "empty"),
        (Options(weights=ListedWeights(("A",), (0, 1), (1.0,))), "as many of each"),
        (Options(weights=ListedWeights(("AX",), (0,), (1.0,))), "'X'"),
        (Options(weights=ListedWeights(("A",), (-1,), (1.0,))), "count from 0"),
        (Options(weights=ListedWeights(("A",), (0,), (float("nan"),))), "finite"),
    ],
)
def test_impossible_options_are_refused(options: Options, told: str) -> None:
    with pytest.raises(ExplainError, match=told):
        sequences.check(options, "sequences")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (SequenceModel(initial=(1.0,)), "initial needs transitions"),
        (SequenceModel(transitions=(0.5, 0.5)), "a chain of order d"),
        (SequenceModel(transitions=(0.25,) * 16), "initial has 0 numbers"),
        (SequenceModel(transitions=(0.25, 0.25, 0.25, 0.5)), "add up to 1"),
        (SequenceModel(transitions=(-0.25, 0.75, 0.25, 0.25)), r"in \[0, 1\]"),
    ],
)
def test_an_impossible_background_is_refused(given: SequenceModel, told: str) -> None:
    with pytest.raises(ExplainError, match=told):
        sequences.chain(Options(background=given), "sequences")


@pytest.mark.parametrize(
    ("transitions", "initial", "order"),
    [((0.1, 0.2, 0.3, 0.4), (), 0), ((0.25,) * 4, (0.25,) * 4, 0), ((0.25,) * 16, (0.25,) * 4, 1)],
)
def test_a_background_tells_its_order_by_its_size(
    transitions: tuple[float, ...], initial: tuple[float, ...], order: int
) -> None:
    given = SequenceModel(transitions=transitions, initial=initial)

    assert sequences.chain(Options(background=given), "").order == order


@pytest.mark.parametrize(
    ("options", "length", "told"),
    [
        (Options(max_length=4), 3, "shorter than max_length"),
        (Options(max_length=10), 100, "more than 5,000,000 numbers"),
        (Options(motifs=("ACGTACGTACGT",)), 100, "no more than 1,048,576 strings"),
        (Options(weights=ListedWeights(("A" * 11,), (0,), (1.0,))), 100, "too long for"),
    ],
)
def test_what_would_not_fit_into_memory_is_refused(
    options: Options, length: int, told: str
) -> None:
    with pytest.raises(ExplainError, match=told):
        sequences.check_sizes(options, length, 0, 1, "sequences")


def test_a_caller_that_has_gone_ends_the_recursion() -> None:
    steps: list[int] = []

    def gone() -> None:
        steps.append(1)
        if len(steps) > 3:
            raise InterruptedError

    step: Callable[[], None] = gone
    with pytest.raises(InterruptedError):
        sequences.from_weights(
            [random_weights(1, 50)],
            Setting(uniform(4), 50, ("y",)),
            Options(max_length=1, motifs=("GAT",)),
            step,
        )
