"""Exported functions of many kinds, called as their interface says, against the compiled function: the same bits."""

from __future__ import annotations

import copy
import ctypes
import subprocess

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.argument_types import binding
from nestor.frontend.jit.export.c_interface import Array, Interface
from test_exported_c import Library

R = np.random.default_rng(0)
A = R.standard_normal((4, 6))
B = R.standard_normal((4, 6))
C = A + 1j * B
COMPLEX = {
    size: type("Complex", (ctypes.Structure,), {"_fields_": [("re", kind), ("im", kind)]})
    for size, kind in ((8, ctypes.c_float), (16, ctypes.c_double))
}


def passed(value, dtype):
    if dtype.kind == "c":
        return COMPLEX[dtype.itemsize](value.real, value.imag)
    if dtype.name == "float16":
        return ctypes.c_uint16(int(np.asarray(value, dtype).view(np.uint16)))
    return np.ctypeslib.as_ctypes_type(dtype)(value)


def called(compiled, folder, name, *arguments):
    """Export a program and call it: the status, and the results in their order."""
    compiled.export_c(folder, name, threads="none")
    library = Library(folder, name)
    interface = Interface(compiled.program, compiled._kernel.packer.forms, name)
    owner = compiled._owner
    leaves = owner._leaves(arguments, {})
    known = dict(zip(leaves[0], leaves[1], strict=True))
    extents = binding(compiled.program.arguments, owner._types(*leaves))
    values = {c: ctypes.c_int64(extents[python]) for python, c in interface.extents.items()}
    for one in interface.arguments:
        value = known[one.python]
        if not isinstance(one, Array):
            values[one.name] = passed(value, one.dtype)
            continue
        values[one.name] = ctypes.c_void_p(value.ctypes.data)
        for axis, stride in enumerate(one.strides or ()):
            values[stride] = ctypes.c_int64(value.strides[axis] // value.itemsize)
    results, taken = [], []
    for one in interface.results:
        if one.allocated is not None:
            place, shape = ctypes.c_void_p(), np.zeros(one.allocated, "i8")
            values |= {one.name: ctypes.byref(place), one.shape_name: ctypes.c_void_p(shape.ctypes.data)}
            taken.append((len(results), one, place, shape))
            results.append(None)
            continue
        shape = [e.value(extents) for e in one.shape]
        order = one.order or tuple(range(len(shape)))
        made = np.zeros([shape[axis] for axis in order], one.dtype)
        values[one.name] = ctypes.c_void_p(made.ctypes.data)
        results.append(made.transpose([order.index(axis) for axis in range(len(order))]))
    parameters = [*interface.parameters, *interface.result_parameters()]
    function = getattr(library.library, name)
    status = function(*[values[one.name] for one in parameters], ctypes.byref(library.error))
    for k, one, place, shape in taken:
        size = int(np.prod(shape)) * one.dtype.itemsize
        results[k] = np.frombuffer(ctypes.string_at(place, size), one.dtype).reshape(shape)
        getattr(library.library, f"{name}_release")(place)
    return status, library.message, results


def flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in flat(item)]
    return [] if value is None else [value]


def dictionary(x, y):
    return {"a": x + y, "b": (x.sum(), np.argmax(y)), "c": x.max(axis=0)}


def parts(z):
    return z * z.conj(), abs(z), z.real + 0


def product(x, y):
    return x * y


def places(x):
    return np.nonzero(x > 0), x[x > 0]


def turned(x):
    return x.T + 1, np.cumsum(x, axis=0), x.ravel() * 2


def row(x, i):
    return x[i] * 2, x.shape[1], i + 1


def layer(p):
    return p["w"] @ p["b"][0], p["b"][1] + 1


def changed(x):
    x[:, 0] = 5
    x *= 2
    return x.sum()


def steps(x, y, n):
    for i in range(n):
        x, y = y, x * 0.5 + i
    return x, y


def joined(x, y):
    return np.concatenate([x, y]), np.stack([x, y]), x @ y.T, np.einsum("ij,kj->ik", x, y)


def searched(x):
    i = 0
    while x[i, 0] < 100 and i < 3:
        i += 1
    return i, x[i].mean()


def kinds(x):
    return x.astype(np.uint8), x > 0, np.int8(3), True, 2**40, 1.5, float("inf")


def clashing(x, x_count, x_span, result, error, slots, told_0, int64_t, double, x__count, result_shape):
    x[0] = (
        x_count + x_span + result.sum() + error + slots + told_0 + int64_t + double + x__count + result_shape
    )
    return x * 1, result[result > 0]


def nothing(x):
    x *= 2


QUICK = [
    (clashing, A[0].copy(), 1, 2, B[0], 3, 4, 5, 6, 7, 8, 9),
    (nothing, A.copy()),
    (dictionary, A, B),
    (parts, C.astype("c8")),
    (product, C, 2 + 1j),
    (turned, A[::2, ::-1]),
    (layer, {"w": A, "b": [A[0], B]}),
    (steps, A, B, 3),
    (kinds, A),
]
SLOW = [
    (parts, C),
    (product, C.astype("c8"), np.complex64(1j)),
    (product, A.astype("f2"), np.float16(1.5)),
    (product, A.astype("f4"), np.float32(1.5)),
    (product, A, True),
    (product, A, np.uint8(200)),
    (product, (A * 9).astype("i1"), np.int8(-3)),
    (product, np.array(2.0), 3.0),
    (places, A),
    (turned, A),
    (turned, np.asfortranarray(A)),
    (row, A, 2),
    (changed, A.copy()),
    (steps, A, B, 0),
    (steps, A, B, 4),
    (joined, A, B),
    (searched, A),
    (dictionary, A[0], B[0]),
]


@pytest.mark.parametrize("dynamic", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "case",
    [*QUICK, *[pytest.param(one, marks=pytest.mark.slow) for one in SLOW]],
    ids=lambda case: case[0].__name__,
)
def test_the_same_bits(tmp_path, case, dynamic):
    function, *arguments = case
    compiled = nt.jit(function, dynamic=dynamic).lower(*arguments).compile()
    plain = not isinstance(arguments[0], np.ndarray) or arguments[0].flags.c_contiguous
    mine, theirs = (copy.deepcopy(arguments) if plain else arguments for _ in range(2))
    status, message, got = called(compiled, tmp_path, f"f_{function.__name__}", *mine)
    assert status == 0, message
    example = tmp_path / f"f_{function.__name__}_example.c"
    command = ["cc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", example]
    assert subprocess.run(command, capture_output=True, text=True).stderr == ""
    wanted = flat(compiled(*theirs))
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted, strict=True):
        assert np.asarray(g).dtype == np.asarray(w).dtype and np.asarray(g).shape == np.shape(w)
        np.testing.assert_array_equal(g, w)
    for m, t in zip(mine, theirs, strict=True):
        if isinstance(m, np.ndarray):
            np.testing.assert_array_equal(m, t)
