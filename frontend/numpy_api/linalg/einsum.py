"""np.einsum: sums of products of any number of arrays, two at a time.

np.einsum("ij,jk,k->i", a, b, x)  ->  t = b @ x (contract k), then a @ t (contract j): the cheaper order, as
np.einsum_path finds it. Axes of one operand only are summed before it is multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...indexing.views import transposed
from ...interface.errors import ShapeError, UnsupportedError
from ...values.arithmetic import apply, convert
from ...values.contents import as_tensor, as_view
from ...values.equal_extents import joined, require_equal
from ...values.extents import Affine
from ...values.graph import Graph
from ...values.products import common_dtype, dot
from ...values.tensors import as_array, broadcast, normal_order, transpose
from ...values.values import Array, Static, Tensor, Value, extents_of
from ..registry import FUNCTIONS, handles, static
from ..statistics.reductions import reduction


@dataclass(frozen=True, eq=False)
class _Term:
    """An operand and the label of each of its axes."""

    value: Value
    labels: str


@handles(np.einsum)
def einsum(graph: Graph, subscripts: Value, *operands: Value, optimize: Value | None = None) -> Value:
    if graph.island is not None:
        raise graph.error(
            UnsupportedError, "np.einsum is not supported among elements", "take it before the loop"
        )
    del optimize  # the order of the products is chosen here
    text = static(graph, subscripts, "the subscripts")
    if not isinstance(text, str):
        raise graph.error(UnsupportedError, "np.einsum takes its subscripts as a string here")
    labels, output = _parsed(graph, text.replace(" ", ""), [len(extents_of(v)) for v in operands])
    if len(operands) == 1 and len(set(labels[0])) == len(labels[0]) == len(output):
        array = as_view(graph, operands[0])
        return transposed(array, [labels[0].index(label) for label in output])
    dtype = common_dtype(graph, *operands)
    terms = [_Term(v, own) for v, own in zip(operands, labels, strict=True)]
    terms = [_diagonal(graph, term) for term in terms]
    if len(terms) == 1 and terms[0].labels == output and isinstance(terms[0].value, Array):
        return terms[0].value  # a diagonal: a view
    order = _memory_order(graph, terms, output)
    extents = _extents(graph, terms)
    converted = [_Term(_array(convert(graph, t.value, dtype)), t.labels) for t in terms]
    terms = [_without_ones(graph, t, extents, dtype) for t in converted]
    result = _multiplied(graph, terms, output, dtype)
    tensor = convert(graph, result.value, dtype)
    if not output:
        return tensor
    tensor = transpose(graph, tensor, [result.labels.index(label) for label in output])
    return as_array(replace(tensor, order=order))


def _array(tensor: Tensor) -> Value:
    return as_array(tensor) if tensor.extents else tensor


# ---- subscripts -------------------------------------------------------------------------------------


def _parsed(graph: Graph, text: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The labels of every operand and of the result; an ellipsis becomes capital Greek letters."""
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise graph.error(
            ShapeError, f"einsum: {len(inputs)} operands in the subscripts and {len(ranks)} in the call"
        )
    spare = "".join(map(chr, range(0x391, 0x391 + 16)))
    widths = [rank - len(one.replace("...", "")) for one, rank in zip(inputs, ranks, strict=True)]
    for one, width in zip(inputs, widths, strict=True):
        if not _is_label(one.replace("...", "", 1)) or width < 0 or (width and "..." not in one):
            raise graph.error(ShapeError, f"einsum: the subscripts '{one}' do not fit their operand")
    widest = max([w for one, w in zip(inputs, widths, strict=True) if "..." in one], default=0)
    dots = spare[:widest]
    labels = [
        one.replace("...", dots[widest - width :] if width else "")
        for one, width in zip(inputs, widths, strict=True)
    ]
    if arrow:
        if widest and "..." not in output:
            raise graph.error(ShapeError, "einsum: the result has no ellipsis for axes of the operands")
        output = output.replace("...", dots, 1)
    else:
        every = "".join(labels)
        output = dots + "".join(sorted(c for c in set(every) - set(dots) if every.count(c) == 1))
    if len(set(output)) != len(output) or not set(output) <= set("".join(labels)):
        raise graph.error(
            ShapeError, f"einsum: the result's subscripts '{output}' are not those of the operands"
        )
    return labels, output


def _is_label(text: str) -> bool:
    return text == "" or (text.isascii() and text.isalpha())


def _extents(graph: Graph, terms: Sequence[_Term]) -> dict[str, Affine]:
    """The extent of every label; an extent of 1 goes with any other."""
    extents: dict[str, Affine] = {}
    for term in terms:
        for label, extent in zip(term.labels, extents_of(term.value), strict=True):
            known = extents.get(label)
            if known is None or known.known == 1:
                extents[label] = extent
            elif extent.known != 1 and joined(graph, known, extent, has_ones=False) is None:
                raise graph.error(
                    ShapeError, f"einsum: operands have different extents for the label '{label}'"
                )
    return extents


def _diagonal(graph: Graph, term: _Term) -> _Term:
    """An operand with a label twice: its diagonal."""
    for label in term.labels:
        if term.labels.count(label) > 1:
            first = term.labels.index(label)
            second = term.labels.index(label, first + 1)
            handler = FUNCTIONS.get(np.diagonal)
            if handler is None or len(extents_of(term.value)) > 2:
                raise graph.error(
                    UnsupportedError,
                    f"einsum: the label '{label}' twice in one operand of more than two axes is not supported",
                    "take np.diagonal of it first",
                )
            a, b = (extents_of(term.value)[k] for k in (first, second))
            if not require_equal(graph, a, b, "einsum"):
                raise graph.error(ShapeError, f"einsum: the axes of the label '{label}' differ in extent")
            diagonal = handler(graph, term.value)
            if (
                isinstance(diagonal, Array) and diagonal.buffer.derived is not None
            ):  # unlike np.diagonal's, it can be written
                diagonal.buffer.derived = (diagonal.buffer.derived[0], "einsum_diagonal", ())
                diagonal.buffer.read_only = False
            return _Term(diagonal, label)
    return term


def _without_ones(graph: Graph, term: _Term, extents: dict[str, Affine], dtype: np.dtype) -> _Term:
    """Axes of extent 1 that stand for more elements go."""
    own = extents_of(term.value)
    axes = [k for k, c in enumerate(term.labels) if own[k].known == 1 and extents[c].known != 1]
    return _summed(graph, term, axes, dtype)


def _summed(graph: Graph, term: _Term, axes: Sequence[int], dtype: np.dtype) -> _Term:
    if not axes:
        return term
    value = reduction(graph, "add", term.value, dtype, Static(tuple(axes)))
    return _Term(value, "".join(c for k, c in enumerate(term.labels) if k not in axes))


# ---- products ---------------------------------------------------------------------------------------


def _multiplied(graph: Graph, terms: list[_Term], output: str, dtype: np.dtype) -> _Term:
    for pair in _path(terms, output):
        chosen = [terms[k] for k in pair]
        terms = [t for k, t in enumerate(terms) if k not in pair]
        needed = set(output).union(*[t.labels for t in terms])
        for term in chosen[1:]:
            chosen[0] = _product(graph, chosen[0], term, needed, dtype)
        if len(chosen) == 1:
            chosen[0] = _alone(graph, chosen[0], needed, dtype)
        terms.append(chosen[0])
    return terms[0]


def _path(terms: Sequence[_Term], output: str) -> Sequence[Sequence[int]]:
    """Which operands to multiply, two at a time."""
    if len(terms) < 3:
        return [range(len(terms))]
    sizes = [[e.known or e.witness() or 100 for e in extents_of(t.value)] for t in terms]
    letters = {c: chr(ord("a") + k) for k, c in enumerate(dict.fromkeys("".join(t.labels for t in terms)))}
    text = ",".join("".join(letters[c] for c in t.labels) for t in terms)
    arrays: list[Any] = [np.broadcast_to(np.float64(0), size) for size in sizes]
    path, _ = np.einsum_path(f"{text}->{''.join(letters[c] for c in output)}", *arrays, optimize="greedy")
    # Three at once (where no pair is better) are two products.
    return [step for step in path[1:] if not isinstance(step, str)]


def _alone(graph: Graph, term: _Term, needed: set[str], dtype: np.dtype) -> _Term:
    return _summed(graph, term, [k for k, c in enumerate(term.labels) if c not in needed], dtype)


def _product(graph: Graph, a: _Term, b: _Term, needed: set[str], dtype: np.dtype) -> _Term:
    a = _alone(graph, a, needed | set(b.labels), dtype)
    b = _alone(graph, b, needed | set(a.labels), dtype)
    both = [c for c in a.labels if c in b.labels]
    batch, contract = [c for c in both if c in needed], [c for c in both if c not in needed]
    labels = "".join(
        [*batch, *[c for c in a.labels if c not in both], *[c for c in b.labels if c not in both]]
    )
    if not contract:
        return _Term(_elementwise(graph, a, b, labels), labels)
    pairs = [
        ([a.labels.index(c) for c in some], [b.labels.index(c) for c in some]) for some in (contract, batch)
    ]
    return _Term(dot(graph, a.value, b.value, pairs[0], pairs[1], dtype=dtype), labels)


def _elementwise(graph: Graph, a: _Term, b: _Term, labels: str) -> Value:
    """Nothing to sum over: the product of both, each spread over the axes it does not have."""
    extents = {c: e for t in (a, b) for c, e in zip(t.labels, extents_of(t.value), strict=True)}
    spread: list[Value] = []
    for term in (a, b):
        own = [c for c in labels if c in term.labels]
        tensor = transpose(graph, as_tensor(graph, term.value), [term.labels.index(c) for c in own])
        if own or labels:
            whole = tuple([extents[c] for c in labels])
            tensor = replace(broadcast(graph, tensor, whole, [labels.index(c) for c in own]), order=None)
        spread.append(_array(tensor))
    return apply(graph, np.multiply, *spread)


# ---- memory -----------------------------------------------------------------------------------------


def _memory_order(graph: Graph, terms: Sequence[_Term], output: str) -> tuple[int, ...] | None:
    """The order NumPy's iterator gives the result: its axes sorted by the strides of the operands, the smallest first."""
    places: list[dict[str, int]] = []
    for term in terms:
        tensor = as_tensor(graph, term.value)
        order = tensor.order or tuple(range(len(term.labels)))
        places.append({term.labels[k]: p for p, k in enumerate(order) if tensor.extents[k].known != 1})
    summed = sorted(set("".join(t.labels for t in terms)) - set(output))
    inner_first = [*output, *summed][::-1]
    sorted_axes: list[str] = []
    for label in inner_first:
        position = len(sorted_axes)
        for k in range(len(sorted_axes) - 1, -1, -1):
            votes = [p[sorted_axes[k]] > p[label] for p in places if label in p and sorted_axes[k] in p]
            if votes and any(votes):
                break
            if votes:
                position = k
        sorted_axes.insert(position, label)
    return normal_order([output.index(c) for c in reversed(sorted_axes) if c in output])
