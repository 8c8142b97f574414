"""Every row of the table of primitives has its function, its pass, its tests and its section of the documentation."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest
from nestor.dialects.schedule.table import PRIMITIVES, Primitive
from nestor.tools.docs.schedules import generate
from nestor.tools.docs.step_types import generate as generate_types
from nestor.tools.opt_tool.information import summary_of
from nestor.transforms.registry import load_pass
from places import ROOT


@pytest.fixture(params=PRIMITIVES.values(), ids=lambda row: row.name)
def row(request) -> Primitive:
    return request.param


def module_of(row: Primitive):
    return import_module("nestor." + row.function.partition(":")[0])


def test_its_function_takes_its_targets_and_options(row: Primitive):
    function = getattr(module_of(row), row.function.partition(":")[2])
    parameters = inspect.signature(function).parameters
    assert len(parameters) >= len(row.targets)
    for option in row.options:
        default = parameters[option.name].default
        assert option.required == (default is inspect.Parameter.empty)
        assert option.required or default == option.default


def test_it_is_a_pass_with_tests_of_its_name(row: Primitive):
    name = row.pass_name
    assert load_pass(name).__name__ == row.pass_class
    assert summary_of(load_pass(name)) == row.summary
    tests = ROOT / "tests" / "filecheck" / "/".join(row.function.partition(":")[0].split(".")[:-1])
    assert (tests / f"{name}.mlir").exists()
    if row.name not in (
        "reuse_buffers",
        "add_unit_loop",
        "simplify",
        "eliminate_dead",
    ):  # which refuse nothing
        assert (tests / f"{name}-invalid.mlir").exists()


def test_its_documentation_shows_before_and_after(row: Primitive):
    text = module_of(row).__doc__ or ""
    assert "becomes" in text


def test_the_documentation_is_the_one_generated():
    assert (ROOT / "docs" / "schedules.md").read_text() == generate(), "run `make docs`"


def test_what_type_checkers_know_of_the_steps_is_the_table():
    kept = (ROOT / "frontend" / "jit" / "driver" / "step_types.py").read_text()
    assert kept == generate_types(), "run `make docs`"
