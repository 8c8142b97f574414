"""Extents with names: `nt.dim`, and `nt.jit(f, dynamic={"x": {0: "batch"}})`, which says which extents are unknown from the
first call on, what they are called, and what is known of them.

    axes = NamedAxes({"x": {0: dim("batch", max=4096)}, "y": {0: "batch"}}, ["x", "y"])
    axes.check(types)          # raises where a call breaks what was said
    axes.named(types)          # x: float64[batch, 64], y: float64[batch]

What is said of a name is a promise of the caller: a call that breaks it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import Any

from ...dialects.records import changed, record
from ...dialects.tracebacks import boundary
from .argument_types import ArgumentType
from .errors import DTypeError, ShapeError

LARGEST = 1 << 62
"""Maximum number that a bound of an extent may be."""


@record
class Dim:
    """An unknown extent: its name, and what is known of it in every call."""

    name: str
    min: int = 0
    max: int | None = None
    multiple_of: int = 1

    def __str__(self) -> str:
        return f"{self.name}{self.facts()}"

    def facts(self) -> str:
        """What is known, as text that follows the name."""
        said = [f"at least {self.min}"] if self.min > 0 else []
        said += [] if self.max is None else [f"at most {self.max}"]
        said += [f"a multiple of {self.multiple_of}"] if self.multiple_of > 1 else []
        return f" ({', '.join(said)})" if said else ""

    def allows(self, extent: int) -> bool:
        """Whether an extent is one of those that were promised."""
        most = extent if self.max is None else self.max
        return self.min <= extent <= most and extent % self.multiple_of == 0


@boundary
def dim(name: str, *, min: int = 0, max: int | None = None, multiple_of: int = 1) -> Dim:
    """An extent that is unknown and has a name, for `nt.jit(f, dynamic={"x": {0: nt.dim("batch", max=4096)}})` and
    `nt.spec((nt.dim("batch", max=4096), 64))`.

    The same name is the same extent. `min` and `max` are the least and the greatest that it may be (both included),
    `multiple_of` a number that divides it: the compiler counts on them, and a call with another extent is refused with a
    ShapeError. Raises DTypeError for what is no name or no integer, ShapeError where no extent is left.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise DTypeError(
            f"{name!r} is not a name of an extent", hint='a name is an identifier: nt.dim("batch")'
        )
    least, factor = _integer(name, "min", min), _integer(name, "multiple_of", multiple_of)
    most = None if max is None else _integer(name, "max", max)
    if factor < 1 or least < 0:
        raise ShapeError(
            f"nt.dim('{name}', min={least}, multiple_of={factor}): extents are not negative",
            hint="min is at least 0, multiple_of at least 1",
        )
    if most is not None and most // factor * factor < least:
        of = f" that is a multiple of {factor}" if factor > 1 else ""
        raise ShapeError(f"nt.dim('{name}'): no extent{of} is from {least} to {most}", hint="raise max")
    return Dim(name, least, most, factor)


def _integer(name: str, what: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise DTypeError(
            f"nt.dim('{name}', {what}={value!r}): {what} is an integer", hint="leave it out, or give an int"
        )
    if not -LARGEST < index(value) < LARGEST:
        raise ShapeError(f"nt.dim('{name}', {what}={value}): no array is that long", hint="leave it out")
    return index(value)


class NamedAxes:
    """The option `dynamic` where it is a dictionary: names of extents, by parameters and their axes."""

    def __init__(self, given: Mapping[str, Mapping[int, Any]], parameters: Sequence[str]):
        self._axes: dict[str, dict[int, str | None]] = {}
        self.dims: dict[str, Dim] = {}
        """What is known of each name."""
        for parameter, axes in given.items():
            self._axes[parameter] = self._axes_of(parameter, axes, parameters)

    def _axes_of(self, parameter: str, axes: Any, parameters: Sequence[str]) -> dict[int, str | None]:
        if not any(parameter == name or str(parameter).startswith(f"{name}_") for name in parameters):
            raise DTypeError(
                f"dynamic: no parameter {parameter!r}", hint=f"parameters: {', '.join(parameters) or 'none'}"
            )
        if not isinstance(axes, Mapping) or not axes:
            raise DTypeError(
                f"dynamic[{parameter!r}] = {axes!r}: it says which axes are unknown",
                hint=f'dynamic={{"{parameter}": {{0: "batch"}}}}: axis 0, called batch',
            )
        made: dict[int, str | None] = {}
        for axis, one in axes.items():
            if isinstance(axis, bool) or not hasattr(axis, "__index__"):
                raise DTypeError(
                    f"dynamic[{parameter!r}]: {axis!r} is not an axis", hint="axes are numbers: {0: 'batch'}"
                )
            made[index(axis)] = self._name_of(parameter, axis, one)
        return made

    def _name_of(self, parameter: str, axis: int, one: Any) -> str | None:
        if one is None:
            return None
        known = one if isinstance(one, Dim) else None
        if known is None:
            if not isinstance(one, str) or not one.isidentifier():
                raise DTypeError(
                    f"dynamic[{parameter!r}][{axis}] = {one!r} is not an extent",
                    hint='a name, nt.dim("batch", max=4096), or None: unknown, without a name',
                )
            known = self.dims.get(one, Dim(one))
        before = self.dims.setdefault(known.name, known)
        if before != known and before != Dim(known.name):
            raise DTypeError(
                f"dynamic: two things are said of '{known.name}': {before}, and {known}",
                hint="say the same in both places, or use another name",
            )
        self.dims[known.name] = known
        return known.name

    # ---- calls --------------------------------------------------------------------------------------

    def check(self, types: Sequence[ArgumentType]) -> None:
        """Raises ShapeError for a call that breaks what was said, DTypeError for one that has not the argument."""
        found: dict[str, tuple[int, str]] = {}
        for one, axis, name in self._places(types):
            extent, where = one.extents[axis], f"axis {axis} of '{one.name}'"
            if name is None or not isinstance(extent, int):
                continue
            said = self.dims[name]
            if not said.allows(extent):
                raise ShapeError(
                    f"{where} is {extent}, and it was declared as {said}: the call with {_shapes(types)}",
                    hint=f"pass an array that fits, or change nt.dim({name!r}, ...) in `dynamic`",
                )
            first, place = found.setdefault(name, (extent, where))
            if first != extent:
                raise ShapeError(
                    f"{place} is {first} and {where} is {extent}, and both were declared as '{name}', one extent: the call "
                    f"with {_shapes(types)}",
                    hint="pass arrays that fit, or give them two names in `dynamic`",
                )

    def named(self, types: Sequence[ArgumentType]) -> tuple[ArgumentType, ...]:
        """The types with the declared extents unknown, under their names; 0 and 1 stay known."""
        result, renamed = list(map(self._without_names, types)), dict[str, str]()
        for one, axis, name in self._places(types):
            k = next(k for k, other in enumerate(result) if other.name == one.name)
            extents, own = list[int | str](result[k].extents), one.extents[axis]
            if own in (0, 1) or result[k].kind == "same":
                continue
            extents[axis] = new = name or f"{one.name}_{axis}"
            if isinstance(own, str):
                renamed[own] = new
            result[k] = changed(result[k], extents=tuple(extents))
        if not renamed:
            return tuple(result)
        return tuple([changed(t, extents=tuple([renamed.get(e, e) for e in t.extents])) for t in result])  # pyright: ignore

    def _without_names(self, one: ArgumentType) -> ArgumentType:
        """The type where no extent of a call that became unknown by itself has one of the declared names by chance."""
        extents = [
            f"{extent}_" if extent in self.dims and witness is not None else extent
            for extent, witness in one.dims()
        ]
        return changed(one, extents=tuple(extents))

    def _places(self, types: Sequence[ArgumentType]) -> Iterator[tuple[ArgumentType, int, str | None]]:
        """The arrays of a call with axes that were declared. Raises for those that are not there."""
        known = {one.name: one for one in types}
        for parameter, axes in self._axes.items():
            one = known.get(parameter)
            if one is None:
                raise DTypeError(
                    f"dynamic names '{parameter}', which this call has not",
                    hint=f"it has {', '.join(known) or 'none'}",
                )
            if one.kind == "same":
                one = changed(types[one.value], name=one.name)
            if one.kind == "static" and one.group == parameter:
                inside = [t.name for t in types if t.group == parameter and t.kind == "array"]
                raise DTypeError(
                    f"dynamic names '{parameter}', which is a structure in this call",
                    hint=f"name the arrays in it: {', '.join(inside) or 'there are none'}",
                )
            if one.kind == "static":  # None, where an array may be
                continue
            for axis, name in axes.items():
                rank = len(one.extents)
                if not -rank <= axis < rank:
                    what = f"an array of rank {rank}" if one.kind == "array" else f"a number ({one.kind})"
                    raise ShapeError(
                        f"'{parameter}' is {what}, and dynamic names its axis {axis}",
                        hint="pass an array that has this axis, or leave it out of `dynamic`",
                    )
                yield one, axis % rank, name


def _shapes(types: Sequence[ArgumentType]) -> str:
    return ", ".join([str(one) for one in types if one.kind == "array"])
