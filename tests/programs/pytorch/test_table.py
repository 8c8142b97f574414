"""The table of operations: names and parameters are those of PyTorch's schemas, and it is read without PyTorch."""

import subprocess
import sys

import pytest
from nestor.frontend.pytorch.operations import OPERATIONS
from nestor.frontend.pytorch.table import IGNORED


def test_the_table_needs_no_pytorch():
    code = "import sys, nestor.frontend.pytorch.operations; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_without_pytorch_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import nestor as nt\n"
        "try:\n    nt.torch_function(abs)\n"
        "except nt.UnsupportedError as error:\n    sys.exit('nestor[torch]' not in str(error))\n"
        "sys.exit(2)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_names_and_parameters_are_those_of_the_schemas():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'torch' has it)")
    unknown, wrong, seen = [], {}, {}
    for name, row in OPERATIONS.items():
        space, _, rest = name.partition(".")
        if space == "operator":
            continue
        packet, _, overload = rest.partition(".")
        found = getattr(getattr(torch.ops, space), packet, None)
        if found is None or overload not in found.overloads():
            unknown.append(name)
            continue
        schema = [a.name for a in getattr(found, overload)._schema.arguments]
        seen.setdefault(row, set()).update(schema)
        missing = [a.name for a in getattr(found, overload)._schema.arguments
                   if not a.has_default_value() and a.name not in row.parameters and a.name not in IGNORED]  # fmt: skip
        if missing:
            wrong[name] = missing
    assert not unknown
    assert not wrong
    assert not {
        row: set(row.parameters) - names for row, names in seen.items() if set(row.parameters) - names
    }
