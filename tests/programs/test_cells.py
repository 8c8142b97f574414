"""Functions in cells of a notebook, run by a kernel: compiled, compiled again when the cell is, with errors at its lines."""

import importlib.util
import re

import pytest

pytestmark = pytest.mark.slow

CELLS = {
    "imports": "import numpy as np, nestor as nt\nx = np.arange(4.0)",
    "a function": """
@nt.jit
def f(x):
    s = 0.0
    for i in range(x.size):
        if x[i] > 1:
            s += x[i]
    return s
f(x)""",
    "changed": """
@nt.jit
def f(x):
    s = 0.0
    for i in range(x.size):
        if x[i] > 1:
            s += x[i] * 10
    return s
f(x)""",
    "a helper": "def helper(x):\n    return x * 3\nuses = nt.jit(lambda x: helper(x))\nuses(x)",
    "the helper changed": "def helper(x):\n    return x * 4\nuses(x)",
    "lambdas": "a, b = nt.jit(lambda x: x + 1), nt.jit(lambda x: x * 2)\na(x), b(x)",
    "commands": "!true\n%timeit -n1 -r1 f(x)\nc = nt.jit(lambda x: x - 1)\nc(x)",
    "a cell that waits": "import asyncio\nawait asyncio.sleep(0)\nd = nt.jit(lambda x: x - 2)\nd(x)",
    "an attribute": "@nt.jit\ndef g(x):\n    y = x + 1\n    return y.missing\ng(x)",
    "an index": "@nt.jit\ndef h(x, k):\n    return x[k]\nh(x, 9)",
    "an argument too many": "f(x, x)",
    "a lowered function": "f.lower(x)",
    "a compiled function": "f.lower(x).compile()",
    "a schedule": "f.lower(x).schedule()",
    "an explanation": "f.explain(x)",
}


@pytest.fixture(scope="module")
def outputs():
    """What each cell gave."""
    if importlib.util.find_spec("nbclient") is None or importlib.util.find_spec("ipykernel") is None:
        pytest.skip("nbclient and ipykernel come with the docs extra")
    import nbclient
    import nbformat

    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(one.strip()) for one in CELLS.values()]
    )
    nbclient.NotebookClient(notebook, timeout=300, allow_errors=True).execute()
    return {name: cell["outputs"] for name, cell in zip(CELLS, notebook["cells"], strict=True)}


def result(outputs, name, kind="text/plain"):
    return outputs[name][-1]["data"][kind]


RESULTS = {
    "a function": "np.float64(5.0)",
    "changed": "np.float64(50.0)",
    "a helper": "array([0., 3., 6., 9.])",
    "the helper changed": "array([ 0.,  4.,  8., 12.])",
    "lambdas": "(array([1., 2., 3., 4.]), array([0., 2., 4., 6.]))",
    "commands": "array([-1.,  0.,  1.,  2.])",
    "a cell that waits": "array([-2., -1.,  0.,  1.])",
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_cell_gives_what_its_text_says(outputs, name):
    assert result(outputs, name) == RESULTS[name]


ERRORS = {
    "an attribute": r"MissingAttributeError: Cell In\[(\d+)\]:4:12: error: .*\n    return y\.missing\n           \^\n",
    "an index": r"IndexRangeError: Cell In\[(\d+)\]:3:12: error: .*\n    return x\[k\]\n           \^\n",
    "an argument too many": r"DTypeError: Cell In\[(\d+)\]:1:1: error: f\(\) too many positional arguments\n",
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_at_the_line_of_the_cell_and_shows_no_frame_of_nestor(outputs, name):
    (error,) = outputs[name]
    text = re.sub("\x1b\\[[0-9;]*m", "", "\n".join(error["traceback"]))
    found = re.search(ERRORS[name], text)
    assert found is not None and int(found[1]) == list(CELLS).index(name) + 1
    assert re.findall(r"(?m)^(?:File|Cell) .*", text) == [
        f"Cell In[{found[1]}], line {len(CELLS[name].splitlines())}"
    ]


@pytest.mark.parametrize(
    "name", ["a lowered function", "a compiled function", "a schedule", "an explanation"]
)
def test_what_a_cell_ends_with_is_shown(outputs, name):
    assert result(outputs, name, "text/html").startswith(("<div>", "<iframe"))
    assert not result(outputs, name).startswith(("'", "<nestor"))
