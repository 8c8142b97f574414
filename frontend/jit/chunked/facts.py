"""What `f.explain(...)` says of a call with Dask arrays: the chunks, what each task reads, and how often a source is read.

chunks (docs/dask.md):
  x: 8 x 1 chunks, 312.50 kiB, read 2 times
  phase 1: 8 tasks make parts of reduction 1 (line 6), 1 more combine them; reads x[lo - 1 : hi + 1, :] (316.88 kiB)
  phase 2: 8 tasks make the result in 8 x 1 chunks; reads x[lo - 1 : hi + 1, :] (316.88 kiB), reduction 1[:] (2.50 kiB)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .boxes import SPLIT_EVERY, Linear, PartForm, Recipe
from .plan import Place, Step
from .reading_again import Readings


def chunk_facts(
    steps: Sequence[Step],
    readings: Readings,
    arrays: Mapping[Place, Any],
    names: Mapping[Place, str],
    origins: Mapping[Place, str],
) -> dict[str, Any]:
    """The facts as plain data: `sources` (the inputs in chunks), and `steps`, in order."""
    inputs = [place for place in arrays if place[0] == "input" and place in readings.phases_of]
    return {
        "sources": [
            {
                "name": names[place],
                "chunks": list(arrays[place].numblocks),
                "bytes": int(arrays[place].nbytes),
                "readings": readings.times(place, arrays),
            }
            for place in inputs
        ],
        "steps": [_step(step, readings, names, origins) for step in steps],
    }


def _step(
    step: Step, readings: Readings, names: Mapping[Place, str], origins: Mapping[Place, str]
) -> dict[str, Any]:
    recipe = step.recipe
    boxes = prod(len(ends) - 1 for ends in recipe.cuts)
    loops = prod(len(ends) - 1 for axis, ends in zip(recipe.axes, recipe.cuts, strict=True) if axis is None)
    programs = [recipe.any_box.program, recipe.inner and recipe.inner.program, recipe.combine]
    return {
        "makes": [names[place] for place in step.makes],
        "origin": origins.get(step.makes[0], ""),
        "phase": readings.phase(step) + 1,
        "tasks": boxes,
        "combining": boxes - boxes // loops if recipe.is_running else boxes // loops * _combining(loops),
        "is_running": recipe.is_running,
        "chunks": [len(one) for one in step.chunks(0)],
        "reads": [
            {"name": names[place], "part": _part(recipe, form), "bytes": _bytes(recipe, form)}
            for place, form in zip(step.sources, recipe.any_box.parts, strict=True)
        ],
        "programs": [
            {"name": one.name, "code_bytes": one.size_of_code} for one in programs if one is not None
        ],
    }


def _combining(parts: int) -> int:
    """How many tasks combine so many partial results."""
    total = 0
    while parts > 1:
        parts = -(-parts // SPLIT_EVERY)
        total += parts
    return total


def _bytes(recipe: Recipe, form: PartForm) -> int:
    """What all tasks together read of a source."""
    boxes = product(*(range(len(ends) - 1) for ends in recipe.cuts))
    elements = sum(prod(high - low for low, high in form.where(recipe.box(index))) for index in boxes)
    return elements * np.dtype(form.dtype).itemsize


def _part(recipe: Recipe, form: PartForm) -> str:
    """What a box reads, as an index of Python: `lo` and `hi` are its ends along the same axis, or those of iterations."""

    def text(axis: int) -> str:
        limits = form.axes[axis]
        return ":" if limits is None else " : ".join(_end(recipe, axis, one) for one in limits)

    return ", ".join(map(text, range(len(form.shape))))


def _end(recipe: Recipe, axis: int, end: Linear) -> str:
    said = ""
    for cut, which, factor in end.terms:
        other = recipe.axes[cut]
        word = ("lo", "hi")[which] + ("" if other in (axis, None) else str(other))
        word = word if abs(factor) == 1 else f"{abs(factor)} * {word}"
        sign = " - " if factor < 0 else " + "
        said += word if not said and factor > 0 else f"{sign}{word}"
    if not said:
        return str(end.constant)
    return f"{said} {'-' if end.constant < 0 else '+'} {abs(end.constant)}" if end.constant else said


def chunk_lines(facts: dict[str, Any]) -> list[str]:
    """The same facts for people."""
    written: Any = import_module("dask.utils").format_bytes
    lines = []
    for one in facts["sources"]:
        times = "once" if one["readings"] == 1 else f"{one['readings']} times"
        lines.append(f"{one['name']}: {_counts(one['chunks'])}, {written(one['bytes'])}, read {times}")
    for one in facts["steps"]:
        makes = ", ".join(one["makes"])
        verb = "makes" if one["tasks"] == 1 else "make"
        origin = f" ({one['origin']})" if one["origin"] else ""
        if one["is_running"]:
            done = f"{verb} {makes}{origin}, what is before each chunk; {one['combining']} more combine them"
        elif one["combining"]:
            done = f"{verb} parts of {makes}{origin}, {one['combining']} more combine them"
        else:
            done = f"{verb} {makes}{origin} in {_counts(one['chunks'])}"
        reads = [f"{part['name']}[{part['part']}] ({written(part['bytes'])})" for part in one["reads"]]
        times = one.get("times", 1)
        phase = f"phase {one['phase']}"
        if times > 1:
            last, every = one["phase"] + (times - 1) * one["every"], one["every"]
            between = "to" if every == 1 else f"and every {every}th to"
            phase = f"phases {one['phase']} {between} {last}, each"
        lines.append(
            f"{phase}: {_number(one['tasks'], 'task')} {done}; reads {', '.join(reads) or 'nothing'}"
        )
    programs = [program for step in facts["steps"] for program in step["programs"]]
    size = sum(program["code_bytes"] for program in programs)
    lines.append(f"machine code: {_number(len(programs), 'program')}, {written(size)}")
    return [*lines, *facts["remarks"]]


def _counts(chunks: Sequence[int]) -> str:
    return f"{' x '.join(map(str, chunks)) or 1} chunk{'s' * (prod(chunks) != 1)}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
