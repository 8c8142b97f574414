"""Exceptions of programs from the disk: classes of the process that runs them, with the numbers of the call."""

from __future__ import annotations

import pytest
from test_stored_programs import Project, project  # noqa: F401

RAISED = """
class Refused(Exception):
    def __init__(self, value, limit):
        super().__init__(value, limit)
        self.limit = limit

def f(a, n):
    if n > 3:
        raise Refused(n, limit=a[0]) from KeyError(f"{n} rows")
    if n > 2:
        raise ValueError("n is %d" % n, a.shape)
    return a * n

compiled = nt.jit(f)

def ends(n):
    try:
        return compiled(np.arange(3.0) + 0.5, n)
    except Exception as error:
        return type(error) in (Refused, ValueError), error.args, repr(error.__cause__), getattr(error, "limit", 0)

result = [ends(n) for n in (1, 3, 4, 5)]
"""


def test_classes_and_numbers(project: Project):  # noqa: F811
    assert "(True, (4, np.float64(0.5))" in project.twice(RAISED)["result"]


def test_in_another_process_without_the_compiler(project: Project):  # noqa: F811
    first, second = project.process(RAISED), project.process(RAISED)
    assert (first["stored"], second["hits"], second["stored"]) == (1, 1, 0)
    assert first["result"] == second["result"]
    assert not second["heavy"]


def test_a_class_that_is_another_one_by_now(project: Project):  # noqa: F811
    project.twice(RAISED)
    changed = project.run(RAISED.replace("super().__init__(value, limit)", "super().__init__(limit)"))
    assert changed["stored"] == 1
    assert "(True, (np.float64(0.5),)" in changed["result"]


@pytest.mark.parametrize("kind", ["type('Made', (Exception,), {})", "ERRORS[0]"])
def test_what_cannot_be_found_again_is_not_stored(project: Project, kind: str):  # noqa: F811
    """A class that is made in the call or an instance that was made outside."""
    body = f"""
ERRORS = [KeyError("outside")]
made = {kind}

def f(a, n):
    if n > 3:
        raise made
    return a * n

compiled = nt.jit(f)

def ends(n):
    try:
        return compiled(np.arange(3.0), n)
    except Exception as error:
        return error is made or type(error) is made

result = [str(ends(n)) for n in (1, 4)]
"""
    first, second = project.run(body), project.run(body)
    assert first["result"] == second["result"] == "['[0. 1. 2.]', 'True']"
