"""Every pass has a FileCheck test of its name, beside those of its siblings, and a docstring that shows it."""

import pytest
from nestor.tools.opt_tool.information import summary_of
from nestor.transforms.registry import PASSES, load_pass
from places import FILECHECK


@pytest.mark.parametrize("name", PASSES)
def test_lit_test_of_the_same_name(name):
    package = PASSES[name].partition(":")[0].split(".")[:-1]
    folder = FILECHECK.joinpath(*package)
    test = folder / f"{name}.mlir"
    assert test.exists(), f"{test.relative_to(FILECHECK.parent)} is missing"
    text = test.read_text()
    assert name in text and "CHECK" in text
    assert text.startswith("// "), "the first line says what the test shows"


@pytest.mark.parametrize("name", PASSES)
def test_pass_is_documented_with_ir_before_and_after(name):
    import sys

    loaded = load_pass(name)
    assert summary_of(loaded)
    assert loaded.name == name
    documentation = (loaded.__doc__ or "") + (sys.modules[loaded.__module__].__doc__ or "")
    assert "becomes" in documentation, "the docstring shows IR before and after"
