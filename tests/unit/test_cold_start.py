"""The savings of a first call change no result and leave nothing behind."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import subprocess
import sys
from pathlib import Path

import pytest
from nestor.frontend.cold_start import collector_paused, formats_on_demand, quick_dataclasses
from xdsl.irdl.declarative_assembly_format import FormatProgram

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
sys.path.insert(0, "examples")
import numpy as np, nestor as nt
from iou import ratio_iou
boxes = [np.ones((10, 100), np.float32)] * 8
iou = nt.jit(ratio_iou)
if {called_first}:
    iou(*boxes)
print(iou.lower(*boxes).as_text("{level}"))
"""


@pytest.mark.parametrize("level", ["scf", "llvm"])
def test_formats_compiled_on_demand_print_the_same(level):
    commands = [
        [sys.executable, "-c", SCRIPT.format(called_first=first, level=level)] for first in (True, False)
    ]
    on_demand, eager = [
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
        for command in commands
    ]
    assert on_demand == eager and "func @" in eager


def test_formats_are_eager_again_afterwards():
    eager = FormatProgram.from_str
    with formats_on_demand():
        with formats_on_demand():
            assert FormatProgram.from_str is not eager
        assert FormatProgram.from_str is not eager
    assert FormatProgram.from_str is eager


def test_collector_is_as_it_was():
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_frozen_objects_stay_frozen():
    gc.freeze()
    try:
        with collector_paused():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def _made(**options):
    """The same classes, their methods made in both ways."""
    made = []
    for context in (contextlib.nullcontext, quick_dataclasses):
        with context():
            one = dataclasses.make_dataclass(
                "One",
                [("x", int), ("y", object, None), ("z", int, dataclasses.field(default=3, compare=False))],
                **options,
            )
            single = dataclasses.make_dataclass("Single", [("x", int)], **options)
            none = dataclasses.make_dataclass("Empty", [], **options)
            below = dataclasses.make_dataclass("Below", [("w", int, 5)], bases=(one,), **options)
        made.append((one, single, none, below))
    return made


@pytest.mark.parametrize(
    "options", [{}, {"frozen": True}, {"order": True}, {"eq": False}, {"unsafe_hash": True}]
)
def test_quick_dataclasses_do_the_same(options):
    seen = []
    for one, single, none, below in _made(**options):
        things = [
            one(1),
            one(1, [2]),
            one(1, None, 4),
            single(7),
            single(7),
            none(),
            none(),
            below(1),
            below(1, 2, 3, 4),
        ]
        facts = [repr(thing) for thing in things]
        facts += [a == b for a in things for b in things]
        facts += [_of(hash, thing) for thing in (*things[:1], *things[2:]) if options != {"eq": False}]
        facts += [_of(setattr, thing, name, 1) for thing in things for name in ("x", "other")]
        facts += [_of(delattr, thing, name) for thing in things for name in ("x", "other")]
        facts += [_of(lambda a, b: a < b, a, b) for a, b in ((one(1), one(2)), (single(1), none()))]
        recursive = _of(_recursive, one)
        seen.append((facts, recursive, one.__eq__.__qualname__ if "eq" not in options else ""))
    assert seen[0] == seen[1]


def _of(do, *arguments):
    try:
        return do(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)


def _recursive(one):
    items = []
    items.append(one(1, items))
    return repr(items)


def test_dataclasses_are_usual_again_afterwards():
    names = ("_repr_fn", "_hash_fn", "_cmp_fn", "_frozen_get_del_attr")
    before = [getattr(dataclasses, name, None) for name in names]
    with quick_dataclasses(), quick_dataclasses():
        pass
    assert [getattr(dataclasses, name, None) for name in names] == before
