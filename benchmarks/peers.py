"""One function a peer: `peer(program_name) -> callable(*inputs)`, compiled and ready. Each runs in a process of its own."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def _example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _source(program: str) -> Callable:
    if program.startswith("iou"):
        return _example("iou").ratio_iou
    if program == "gauss-seidel":
        return _example("gauss_seidel").gauss_seidel
    return _example("softmax").softmax


def numpy(program: str) -> Callable:
    """The program as it stands."""
    return _source(program)


def nestor(program: str) -> Callable:
    """The program as it stands, under `@nt.jit`."""
    import nestor as nt

    return nt.jit(_source(program))


def numba(program: str) -> Callable:
    """Each program in the form that suits numba best: explicit loops, parallel and fastmath where they apply."""
    import math

    import numba as nb
    import numpy as np

    if program == "gauss-seidel":
        return nb.njit(_source(program))
    if program == "softmax":

        @nb.njit(parallel=True, fastmath=True)
        def softmax(x):
            out = np.empty_like(x)
            for i in nb.prange(x.shape[0]):
                largest = -np.inf
                for j in range(x.shape[1]):
                    largest = max(largest, x[i, j])
                total = np.float32(0)
                for j in range(x.shape[1]):
                    out[i, j] = math.exp(x[i, j] - np.float32(largest))
                    total += out[i, j]
                for j in range(x.shape[1]):
                    out[i, j] /= total
            return out

        return softmax

    @nb.njit(parallel=True, fastmath=True, error_model="numpy")
    def iou(x1, y1, w1, h1, x2, y2, w2, h2):
        out = np.empty_like(x1)
        for i in nb.prange(x1.size):
            xi = max(x1[i], x2[i])
            yi = max(y1[i], y2[i])
            wi = max(min(x1[i] + w1[i], x2[i] + w2[i]) - xi, np.float32(0))
            hi = max(min(y1[i] + h1[i], y2[i] + h2[i]) - yi, np.float32(0))
            inter = wi * hi
            union = w1[i] * h1[i] + w2[i] * h2[i] - inter
            out[i] = inter / max(union, np.float32(1e-5))
        return out

    def flat(*arrays):
        return iou(*[a.reshape(-1) for a in arrays]).reshape(arrays[0].shape)

    return flat


PEERS: dict[str, Callable[[str], Callable]] = {"nestor": nestor, "numba": numba, "numpy": numpy}
