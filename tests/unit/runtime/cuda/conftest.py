"""A GPU that is none, and which calls no launch plan has answered."""

import fake_cupy
import pytest
from nestor.frontend.jit.driver.jit_function import JitFunction


@pytest.fixture
def cupy(monkeypatch):
    return fake_cupy.install(monkeypatch)


@pytest.fixture
def general(monkeypatch):
    """The calls that no plan answered."""
    found = []
    call = JitFunction.__call__

    def count(self, *args, **kwargs):
        found.append(args)
        return call(self, *args, **kwargs)

    monkeypatch.setattr(JitFunction, "__call__", count)
    return found
