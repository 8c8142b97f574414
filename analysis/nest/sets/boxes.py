"""Sets that depend on a box `lo <= index < hi`: the parameters `lo` and `hi` of isl sets, and bounds that move with them.

    [n, lo, hi] -> { [x] : lo - 1 <= x <= hi and 0 <= x < n }      limit_of(..., "lo", least=True)  ==  lo - 1
                                                                   limit_of(..., "hi", least=False) ==  hi + 1

Shared by `chunking.py`, which says what a box needs, and `restriction.py`, by which only that is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import islpy as isl


@dataclass(frozen=True)
class Bound:
    """A linear expression in `lo`, `hi` and extents: the factor of each name, and a constant."""

    factors: tuple[tuple[str, int], ...]
    constant: int

    def __str__(self) -> str:
        terms = [
            f"{name}" if abs(factor) == 1 else f"{abs(factor)} * {name}" for name, factor in self.factors
        ]
        signs = [factor < 0 for _, factor in self.factors]
        if self.constant or not terms:
            terms.append(str(abs(self.constant)))
            signs.append(self.constant < 0)
        text = " ".join(
            f"{'-' if is_less else '+'} {term}" for is_less, term in zip(signs, terms, strict=True)
        )
        return text.removeprefix("+ ") if not signs[0] else f"-{text[2:]}"


def limit_of(one: isl.Set, end: str, least: bool, near: int = 0, *, is_border: bool = False) -> Bound | None:
    """The least (or one more than the largest) index as a linear expression that moves with the box, None: it does not.

    Where the box is near an end of the axis the index may be nearer than that, never farther. For some boxes it may be
    farther by `near` than for most of them: the bound is that of all. (Borders that few boxes need do not move with these.)
    A border itself may be at a distance: the last row, where only the box from 0 on needs it, is at `lo + n - 1`.
    """
    pieces: list[tuple[isl.Set, isl.Aff]] = []
    (one.dim_min(0) if least else one.dim_max(0)).foreach_piece(lambda *piece: pieces.append(piece))
    boxes = union_of(where.params() for where, aff in pieces if mentions_box(aff))
    if boxes is None and not near:
        return None
    ends = one.lexmin() if least else shifted(one.lexmax())
    inside = ends if boxes is None else ends.intersect_params(boxes)
    moving = [aff for _, aff in pieces if mentions_box(aff)]
    linear = {factors for aff in moving if (factors := linear_factors(aff)) is not None}
    if is_border:
        fixed = [linear_factors(aff) for _, aff in pieces if not mentions_box(aff)]
        linear.update(tuple(sorted([*factors, (end, 1)])) for factors in fixed if factors)
    candidates = dict.fromkeys([((end, 1),), *sorted(linear)])
    best: tuple[float, Bound] | None = None
    for factors in candidates:
        low, high = distances(inside, factors)
        usual = low if least else high
        if usual is None or ((low is None or high is None) and not near):
            continue
        everywhere = distances(ends, factors)
        most = everywhere[0] if least else everywhere[1]
        if most is None or abs(most - usual) > near:
            continue
        spread = float("inf") if low is None or high is None else high - low
        if best is None or spread < best[0]:
            best = spread, Bound(factors, most)
    return None if best is None else best[1]


def fixed_limit_of(one: isl.Set, least: bool) -> Bound | None:
    """The least (or one more than the largest) index as a linear expression without the box; None where there is none."""
    pieces: list[isl.Aff] = []
    (one.dim_min(0) if least else one.dim_max(0)).foreach_piece(lambda _, aff: pieces.append(aff))
    linear = {linear_factors(aff) for aff in pieces if not mentions_box(aff)} - {None}
    ends = one.lexmin() if least else shifted(one.lexmax())
    for factors in sorted(linear):  # pyright: ignore[reportArgumentType]
        most = distances(ends, factors)[0 if least else 1]  # pyright: ignore[reportArgumentType]
        if most is not None:
            return Bound(factors, most)  # pyright: ignore[reportArgumentType]
    return None


def does_not_depend(boxes: isl.Set, needed: isl.Set) -> bool:
    """Whether all of `boxes` are `needed`, or none are, for the same extents."""
    every = needed
    for name in ("lo", "hi"):
        if (position := every.find_dim_by_name(dim_kinds().param, name)) >= 0:
            every = every.project_out(dim_kinds().param, position, 1)
    return bool(every.intersect(boxes).is_subset(needed))


def box_of(elements: isl.Set, axis: int) -> isl.Set:
    """The elements with `lo <= index < hi` along one axis, for boxes that have some within the extent."""
    kinds = dim_kinds()
    parameters = [str(elements.get_dim_name(kinds.param, k)) for k in range(elements.dim(kinds.param))]
    indices = [f"x{k}" for k in range(elements.dim(kinds.set))]
    import islpy

    name = elements.get_tuple_name()
    box = islpy.Set(
        f"[{', '.join([*parameters, 'lo', 'hi'])}] -> {{ {name}[{', '.join(indices)}] : 0 <= lo < hi and "
        f"lo <= {indices[axis]} < hi }}"
    )
    whole = along(elements, axis)
    first, last = (
        islpy.Set(f"[{name}] -> {{ [{name} {shift}] : }}") for name, shift in (("lo", ""), ("hi", "- 1"))
    )
    fits = first.intersect(whole).params().intersect(last.intersect(whole).params())
    return elements.intersect(box).intersect_params(fits)


def along(instances: isl.Set, position: int) -> isl.Set:
    """The values of one variable."""
    kinds = dim_kinds()
    rest = instances.project_out(kinds.set, position + 1, instances.dim(kinds.set) - position - 1)
    return rest.project_out(kinds.set, 0, position)


def with_value(instances: isl.Set, position: int, values: isl.Set) -> isl.Set:
    """All integers in the space of `instances` of which one variable is among `values`."""
    kinds = dim_kinds()
    count = instances.dim(kinds.set)
    wide = values.insert_dims(kinds.set, 1, count - position - 1).insert_dims(kinds.set, 0, position)
    return wide.set_tuple_name(instances.get_tuple_name())


def is_equal(relation: isl.Map, first: int, second: int) -> bool:
    """Whether a relation keeps the value of a variable."""
    kinds = dim_kinds()
    return bool(relation.is_subset(relation.equate(kinds.in_, first, kinds.out, second)))


def is_the_same(one: isl.Set) -> bool:
    """Whether every box that needs something needs the same elements."""
    kinds = dim_kinds()
    every = one
    for name in ("lo", "hi"):
        if (position := every.find_dim_by_name(kinds.param, name)) >= 0:
            every = every.project_out(kinds.param, position, 1)
    return bool(every.intersect_params(one.params()).is_subset(one))


def mentions_box(aff: isl.Aff) -> bool:
    return any(
        (position := aff.find_dim_by_name(dim_kinds().param, name)) >= 0
        and aff.involves_dims(dim_kinds().param, position, 1)
        for name in ("lo", "hi")
    )


def linear_factors(aff: isl.Aff) -> tuple[tuple[str, int], ...] | None:
    """The factors of an expression's parameters; None where they are no integers, or it has quotients."""
    kinds = dim_kinds()
    if aff.dim(kinds.div):
        return None
    found = []
    for k in range(aff.dim(kinds.param)):
        factor = aff.get_coefficient_val(kinds.param, k)
        if not factor.is_int():
            return None
        if not factor.is_zero():
            found.append((aff.get_dim_name(kinds.param, k), factor.to_python()))
    return tuple(sorted(found))


def shifted(indices: isl.Set) -> isl.Set:
    """One more than each index."""
    import islpy

    return indices.apply(islpy.Map("{ [x] -> [x + 1] }"))


def distances(ends: isl.Set, factors: Sequence[tuple[str, int]]) -> tuple[int | None, int | None]:
    """The least and the largest of an index less a linear expression, over all parameters; None where there is none."""
    import islpy

    names = ", ".join(name for name, _ in factors)
    terms = " + ".join(f"{factor} * {name}" for name, factor in factors) or "0"
    values = ends.apply(islpy.Map(f"[{names}] -> {{ [x] -> [x - ({terms})] }}"))
    values = values.project_out(dim_kinds().param, 0, values.dim(dim_kinds().param))
    return tuple(number_of(value) for value in (values.dim_min_val(0), values.dim_max_val(0)))  # pyright: ignore


def number_of(value: isl.Val) -> int | None:
    return value.to_python() if value.is_int() else None


def add_to(sets: dict[str, isl.Set], name: str, more: isl.Set) -> None:
    if not more.is_empty():
        sets[name] = sets[name].union(more).coalesce() if name in sets else more.coalesce()


def union_of(sets: Iterable[isl.Set]) -> isl.Set | None:
    total = None
    for one in sets:
        total = one if total is None else total.union(one)
    return total


def dim_kinds():
    import islpy

    return islpy.dim_type
