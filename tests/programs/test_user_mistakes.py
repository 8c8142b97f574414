"""Mistakes that users make: the message is a diagnostic with a caret and a way out, and the traceback is theirs alone.

The scripts are in user_mistakes.txt, each below a line `== what is wrong | the exception`.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import traceback

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.tracebacks import is_own
from places import TESTS

TEXT = (TESTS / "programs" / "user_mistakes.txt").read_text()
MISTAKES = {
    head.split(" | ")[0]: (head.split(" | ")[1], body)
    for head, _, body in (part.partition("\n") for part in TEXT.split("== ")[1:])
}
OF_THE_USERS_OWN = ("an assertion", "a raise of one's own")
"""The program's own errors: what to do about them it says itself."""


def _raised(body, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(f"import numpy as np\nimport nestor as nt\n{body}")
    space = {"__name__": "__main__", "__file__": str(path)}
    try:
        exec(compile(path.read_text(), str(path), "exec"), space)
    except Exception as error:
        return error
    raise AssertionError("the script raises nothing")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_is_a_diagnostic_and_the_traceback_the_users(mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kind, body = MISTAKES[mistake]
    error = _raised(body, tmp_path)
    assert kind in [one.__name__ for one in type(error).__mro__]
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert not [file for file in frames if is_own(file) or "xdsl" in file]
    shown = "".join(traceback.format_exception(error))
    assert "During handling" not in shown and "direct cause" not in shown
    if mistake in OF_THE_USERS_OWN:
        return
    assert isinstance(error, NestorError)
    first, *rest = str(error).splitlines()
    assert re.match(r".*script\.py:\d+:\d+: error: ", first) and any(line.strip() == "^" for line in rest)
    assert any(line.startswith("  help: ") for line in rest)
    assert f"  see: docs/errors.md#{type(error).__name__.lower()}" in rest


def test_there_are_sixty():
    assert len(MISTAKES) >= 60


def test_a_fault_of_nestors_own_keeps_its_frames(monkeypatch):
    from nestor.frontend.jit.driver.jit_function import JitFunction

    monkeypatch.setattr(JitFunction, "_leaves", None)
    with pytest.raises(TypeError) as caught:
        nt.jit(lambda x: x)(np.ones(3))
    assert any(is_own(frame.filename) for frame in traceback.extract_tb(caught.tb))


def test_an_error_of_a_function_that_is_called_back_keeps_its_own_frames():
    def fails(x):
        raise ValueError("no more paper")

    @nt.jit
    def f(x):
        nt.custom_call(fails, x)
        return x

    with pytest.raises(ValueError, match="no more paper") as caught:
        f(np.ones(3))
    frames = traceback.extract_tb(caught.tb)
    assert frames[-1].name == "fails" and not any(is_own(frame.filename) for frame in frames)


def test_what_the_user_was_handling_stays_in_the_context():
    @nt.jit
    def f(x, y):
        return x + y

    try:
        raise OSError("the file is not there")
    except OSError as first:
        with pytest.raises(ValueError) as caught:
            f(np.ones(3), np.ones(4))
        assert caught.value.__context__ is first


def test_the_environment_brings_the_frames_back(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import numpy as np\nimport nestor as nt\n\n\n@nt.jit\ndef f(x):\n    return x[5]\n\n\nf(np.ones(3))\n"
    )
    shown = {}
    for mode in ("", "full"):
        env = {**os.environ, "NESTOR_TRACEBACK": mode}
        shown[mode] = subprocess.run([sys.executable, path], env=env, capture_output=True, text=True).stderr
    assert shown[""].count("  File ") == 1 < shown["full"].count("  File ")
    assert shown[""].splitlines()[-1].startswith("  see: docs/errors.md#indexrangeerror")


def test_the_options_of_jit_are_told_by_its_help():
    text, signature = nt.jit.__doc__ or "", inspect.signature(nt.jit)
    options = [name for name in signature.parameters if name != "function"]
    assert len(options) >= 12
    for name in options:
        assert re.search(rf"^    (\w+, )?{name}(, \w+)?: ", text, re.MULTILINE), name


def test_a_name_that_nestor_lacks():
    with pytest.raises(AttributeError, match="has no attribute 'jitt'") as caught:
        _ = nt.jitt  # pyright: ignore[reportAttributeAccessIssue]
    assert [frame.filename for frame in traceback.extract_tb(caught.tb)] == [__file__]
    assert caught.value.name == "jitt"
