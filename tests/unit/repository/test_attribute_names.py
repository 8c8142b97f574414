"""Names of attributes are written once, in dialects/attributes.py, with what they promise."""

import ast
import re
from pathlib import Path

import pytest
from nestor.dialects import attributes
from nestor.dialects.registry import make_context
from places import ROOT

PRODUCT = ("dialects", "analysis", "transforms", "lowering", "frontend", "runtime", "tools")
FILES = [path for package in PRODUCT for path in sorted((ROOT / package).rglob("*.py"))]
NAME = re.compile(r"(nest|nestor|nt)\.[a-z_0-9]+")
NAMES = {name: value for name, value in vars(attributes).items() if name.isupper()}


def written_names(text: str) -> set[str]:
    """The string constants of a module that look like the name of an attribute or an operation of ours."""
    constants = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    return {value for value in constants if isinstance(value, str) and NAME.fullmatch(value)}


def test_they_are_written_nowhere_else():
    packages = {f"nestor.{package}" for package in PRODUCT}
    operations = {
        op.name for dialect in ("nest", "nt") for op in make_context().get_dialect(dialect).operations
    }
    found = {
        str(path.relative_to(ROOT)): sorted(names)
        for path in FILES
        if path.name != "attributes.py" and (names := written_names(path.read_text()) - operations - packages)
    }
    assert not found


@pytest.mark.parametrize("name", NAMES)
def test_each_is_used_and_says_what_it_promises(name):
    text = Path(attributes.__file__).read_text()
    assert re.search(rf'^{name} = "[^"]+"\n"""[^"]', text, re.M)
    assert any(re.search(rf"\b{name}\b", path.read_text()) for path in FILES if path.name != "attributes.py")


def test_no_two_are_the_same():
    assert len(set(NAMES.values())) == len(NAMES)


def test_a_name_would_be_found():
    assert written_names("x.attributes['nestor.grain'] = 3\ny = 'nestor.grain of z'") == {"nestor.grain"}
