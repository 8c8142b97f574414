"""Texts that Python does not keep are found again where they are at hand, and never another one."""

from __future__ import annotations

import linecache
import subprocess
import sys
from types import SimpleNamespace

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface import carried_texts
from nestor.frontend.interface.source import has_text, source_of

X = np.arange(5.0)

LOOP = """
import numpy as np

def large(x):
    s = 0.0
    for i in range(x.size):
        if x[i] > 1.5:
            s += x[i]
    return s

def other(x):
    return x.missing
"""


@pytest.fixture(autouse=True)
def no_texts(monkeypatch):
    """Each test begins with no texts that came from elsewhere."""
    monkeypatch.setattr(carried_texts, "_LINES", type(carried_texts._LINES)())
    monkeypatch.setattr(carried_texts, "_PLACES", {})
    monkeypatch.setattr(linecache, "cache", {})
    monkeypatch.delitem(sys.modules, "readline", raising=False)


def made(text, file="<string>", name=None):
    space = {"np": np, "nt": nt}
    exec(compile(text, file, "exec", dont_inherit=True), space)
    return space if name is None else space[name]


@pytest.mark.parametrize(
    "options", [["-c", LOOP], ["-Bc", LOOP], ["-B", f"-c{LOOP}"], ["-W", "ignore", "-c", LOOP]]
)
def test_the_text_of_python_c_is_compiled(monkeypatch, options):
    monkeypatch.setattr(sys, "orig_argv", ["python", *options, "an argument"])
    space = made(f"{LOOP}\n")
    assert nt.jit(space["large"])(X) == 9.0
    with pytest.raises(
        nt.NestorError, match=r"<python -c>:12:12: error: .*\n    return x\.missing\n           \^"
    ):
        nt.jit(space["other"])(X)


def test_another_text_of_the_same_name_is_not_taken_for_it(monkeypatch):
    """`exec` calls its texts as `python -c` does."""
    monkeypatch.setattr(sys, "orig_argv", ["python", "-c", LOOP])
    function = made(LOOP.replace("1.5", "2.5"), name="large")
    assert not has_text(function)
    assert has_text(made(LOOP, name="large"))


def test_what_was_typed_is_found_in_the_history(monkeypatch):
    lines = [
        "import nestor as nt",
        "def f(x):", "    return x + 1",
        "@nt.jit", "@nt.jit",
        "def f(x):", "    if x[0] > 0:", "        x = x + (", "            2", "        )", "    return x",
        "f(X)",
        "def f(x):", "    return x + 3",
        "a, b = lambda x: x * 2, lambda x: x * 3",
    ]  # fmt: skip
    readline = SimpleNamespace(
        get_current_history_length=lambda: len(lines), get_history_item=lambda k: lines[k - 1] if k else None
    )
    monkeypatch.setitem(sys.modules, "readline", readline)
    statements = lines[1:3], lines[4:11], lines[12:14], lines[14:]
    first, second, third = (made("\n".join(one) + "\n", "<stdin>", "f") for one in statements[:3])
    assert np.array_equal(nt.jit(first)(X), X + 1)
    assert np.array_equal(second(X + 1), X + 3)
    assert np.array_equal(nt.jit(third)(X), X + 3)
    pair = made(statements[3][0] + "\n", "<stdin>")
    assert np.array_equal(nt.jit(pair["a"])(X), X * 2)
    assert np.array_equal(nt.jit(pair["b"])(X), X * 3)
    assert source_of(third).file == "<prompt, line 13>"
    assert not has_text(made("def f(x):\n    return x + 9\n", "<stdin>", "f"))


def run(program, *arguments, **how):
    return subprocess.run(
        [sys.executable, *arguments], input=program, capture_output=True, text=True, timeout=120, **how
    )


PRINTED = f"import nestor as nt\n{LOOP}\nprint(nt.jit(large)(np.arange(5.0)))\n"


def test_a_standard_input_that_is_a_file_is_compiled(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PRINTED)
    with path.open() as text:
        found = subprocess.run([sys.executable, "-"], stdin=text, capture_output=True, text=True, timeout=120)
    assert (found.stdout, found.stderr) == ("9.0\n", "")


def test_what_a_pipe_had_is_gone_and_the_refusal_says_so():
    found = run(PRINTED, "-")
    assert (
        found.returncode == 1
        and "the text of 'large' is not known: Python read it from a pipe" in found.stderr
    )
    assert "a condition of a traced function must be known" in found.stderr


def test_python_c_is_compiled_in_a_process_of_its_own():
    found = run("", "-c", PRINTED)
    assert (found.stdout, found.stderr) == ("9.0\n", "")


def test_a_text_that_is_handed_to_linecache_is_compiled():
    text, file = LOOP, "<generated: large>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    assert nt.jit(made(text, file, "large"))(X) == 9.0


def test_lambdas_are_told_apart_wherever_they_stand():
    text = """
pair = lambda x: x + 1, lambda x: x + 2
called = list(map(
    lambda f: f, [
        lambda x,
               k=3: (
            x * k),
        lambda x, k=4: x * k, lambda x, k=5: x * k,
    ]
))
nested = lambda x: (lambda x: x - 6)(x) + (lambda x: x - 7)(x)
same = [lambda x: x, lambda x: x]
table = {k: lambda x, k=k: x + k for k in (8, 9)}
"""
    file = "<cell>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = made(text, file)
    functions = [*space["pair"], *space["called"], space["nested"], *space["same"], *space["table"].values()]
    for function in functions:
        assert np.array_equal(nt.jit(function)(X), function(X))
