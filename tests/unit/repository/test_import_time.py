"""`import nestor` costs next to nothing: neither xDSL nor llvmlite nor islpy is loaded by it."""

import subprocess
import sys


def test_import_loads_no_compiler_library():
    code = (
        "import sys, numpy, nestor; dir(nestor);"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'xdsl', 'llvmlite', 'islpy', 'cupy'}))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_import_of_every_public_name():
    import nestor

    for name in nestor.__all__:
        assert getattr(nestor, name) is not None


def test_unknown_name_is_an_attribute_error():
    import nestor
    import pytest

    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        nestor.no_such_name  # noqa: B018
