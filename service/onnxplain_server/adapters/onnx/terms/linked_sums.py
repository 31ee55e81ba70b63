"""Outputs as affine functions of a link function of sums, or of shares of its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from onnxplain_server.adapters.onnx.terms.linear_steps import AffineSum, Coefficients
from onnxplain_server.adapters.onnx.terms.link_nodes import LinkNode, divided_by_total, read_link
from onnxplain_server.adapters.onnx.terms.sums import SumReader
from onnxplain_server.additive.model import MIXING, TermLink
from onnxplain_server.core.arrays import Array
from onnxplain_server.trees.reading.links import AffineMap
from onnxplain_server.trees.reading.refusal import RefusedError


@dataclass(frozen=True, eq=False)
class LinkedSums:
    """Sums, the link function behind them, and the outputs that are made of its results.

    Attributes
    ----------
    sums : AffineSum
    link : TermLink
    combination : AffineMap or None
        Map from linked sums to outputs; None where these are the outputs.
    """

    sums: AffineSum
    link: TermLink
    combination: AffineMap | None


def read_linked(reader: SumReader, starts: Mapping[str, Array]) -> LinkedSums:
    """Read tensors as a link of sums; `starts` as in `SumReader.read`.

    Raises
    ------
    RefusedError
        If they are none.
    """
    outer = reader.read(starts)
    if not any(map(reader.is_behind_link, outer.parts)):
        return LinkedSums(outer, TermLink.IDENTITY, None)
    (first, *others) = outer.parts
    node = reader.graph.producer(first)
    divided = None if node is None else divided_by_total(reader.graph, node)
    if divided is not None and not others:
        return _shares(reader, divided, outer, first)
    links = [read_link(reader.graph, name, reader.dependence) for name in outer.parts]
    combination = combine_links(links, outer)
    inner = replace(reader, is_link=lambda _: False)
    sums = inner.read(coefficients_of(links, reader.dependence))
    add_intercepts(sums, links)
    sums.rounding = max(sums.rounding, outer.rounding)
    return _used(_of_two_classes(LinkedSums(sums, links[0].link, combination)))


def _of_two_classes(linked: LinkedSums) -> LinkedSums:
    """Write a softmax of a constant and a sum as the logistic function of their difference.

    That of two sums stays: large numbers that both have cancel out in the difference, and only in
    the digits that the model keeps of each.
    """
    sums = linked.sums
    is_of_two = linked.link is TermLink.SOFTMAX and len(sums.offset) == 2
    if not is_of_two or any(part.signed[0].any() for part in sums.parts.values()):
        return linked
    parts = {
        name: Coefficients(part.signed[1:] - part.signed[:1], part.absolute.sum(0, keepdims=True))
        for name, part in sums.parts.items()
    }
    offset, size = np.diff(sums.offset), sums.absolute_offset.sum(keepdims=True)
    difference = replace(
        sums,
        parts=parts,
        offset=offset,
        absolute_offset=size,
        addition_count=sums.addition_count + 1,
    )
    both = AffineMap(np.array([[-1.0], [1.0]]), np.array([1.0, 0.0]))
    behind = linked.combination
    return LinkedSums(difference, TermLink.LOGISTIC, both if behind is None else behind.after(both))


def _used(linked: LinkedSums) -> LinkedSums:
    """Leave out sums of which no output takes the result, nor any other result depends on."""
    if linked.combination is None or linked.link in MIXING:
        return linked
    matrix, offset = linked.combination
    used = np.flatnonzero(matrix.any(axis=0))
    sums = linked.sums
    parts = {name: part.map(itemgetter(used)) for name, part in sums.parts.items()}
    kept = replace(
        sums, parts=parts, offset=sums.offset[used], absolute_offset=sums.absolute_offset[used]
    )
    combination = _unless_plain(AffineMap(matrix[:, used], offset))
    return LinkedSums(kept, linked.link, combination)


def _shares(reader: SumReader, divided: str, outer: AffineSum, result: str) -> LinkedSums:
    """Read results of a link that are divided by their total."""
    if divided not in reader.dependence:
        raise RefusedError("it divides by a total that is not known row by row")
    shape = reader.dependence[divided].shape
    size = int(np.prod(shape))
    linked = read_linked(reader, {divided: np.eye(size).reshape(size, *shape)})
    own = outer.parts[result].signed.reshape(len(outer.offset), -1)
    behind = AffineMap(own, outer.offset)
    inner = linked.combination or AffineMap(np.eye(size), np.zeros(size))
    combination = _unless_plain(behind.after(inner))
    if _adds_up_to_1(linked):
        return replace(linked, combination=combination)
    if linked.link is TermLink.LOGISTIC and _is_order(inner):
        return replace(linked, link=TermLink.LOGISTIC_SHARES, combination=combination)
    raise RefusedError("it divides results by their total")


def _adds_up_to_1(linked: LinkedSums) -> bool:
    """Return whether results add up to 1 in each row, by their coefficients."""
    combination = linked.combination
    if linked.link is TermLink.SOFTMAX:
        return combination is None
    if linked.link is not TermLink.LOGISTIC:
        return False
    if combination is not None:
        return not combination.matrix.sum(axis=0).any() and combination.offset.sum() == 1
    signed = [part.signed.reshape(len(part.signed), -1) for part in linked.sums.parts.values()]
    rows = np.concatenate([*signed, linked.sums.offset[:, np.newaxis]], axis=1)
    return len(rows) == 2 and np.array_equal(rows[0], -rows[1])


def _is_order(combination: AffineMap) -> bool:
    """Return whether a map only rearranges numbers."""
    matrix, offset = combination
    size = len(matrix)
    is_square = matrix.shape == (size, size) and not offset.any()
    is_chosen = np.isin(matrix, (0, 1)).all() and (matrix.sum(axis=1) == 1).all()
    return bool(is_square and is_chosen and (matrix.sum(axis=0) == 1).all())


def _unless_plain(combination: AffineMap) -> AffineMap | None:
    matrix, offset = combination
    is_plain = np.array_equal(matrix, np.eye(len(matrix))) and not offset.any()
    return None if is_plain else combination


def combine_links(links: Sequence[LinkNode], outer: AffineSum) -> AffineMap | None:
    """Return the map from all linked scores to the outputs; None where these are the outputs.

    Raises
    ------
    RefusedError
        If the links are not all the same, or are several softmaxes.
    """
    kinds = {link.link for link in links}
    if len(kinds) > 1 or (TermLink.SOFTMAX in kinds and len(links) > 1):
        raise RefusedError("it combines the results of several link functions")
    count = len(outer.offset)
    own = [outer.parts[link.result].signed.reshape(count, -1) for link in links]
    pairs = list(zip(own, links, strict=True))
    matrix = np.concatenate([part @ link.results.matrix for part, link in pairs], axis=1)
    offset = outer.offset + sum(part @ link.results.offset for part, link in pairs)
    return _unless_plain(AffineMap(matrix, offset))


def coefficients_of(
    links: Sequence[LinkNode], dependence: Mapping[str, Array]
) -> Mapping[str, Array]:
    """Return the coefficients of all scores, one link after the other, for the tensors in front."""
    ends = np.cumsum([len(link.intercepts) for link in links])
    starts: dict[str, Array] = {}
    for link, end in zip(links, ends, strict=True):
        own = np.zeros((int(ends[-1]), link.matrix.shape[1]))
        own[end - len(link.intercepts) : end] = link.matrix
        shaped = own.reshape(len(own), *dependence[link.tensor].shape)
        starts[link.tensor] = starts.get(link.tensor, 0.0) + shaped
    return starts


def add_intercepts(sums: AffineSum, links: Sequence[LinkNode]) -> None:
    """Add to the sums what the nodes of links add themselves."""
    intercepts = np.concatenate([link.intercepts for link in links])
    sums.offset += intercepts
    sums.absolute_offset += np.abs(intercepts)
    sums.addition_count += max(link.matrix.shape[1] for link in links) + 1
