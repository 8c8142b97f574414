"""`compiled.export_c`: C libraries give the bits of the compiled function, and refuse what Python refuses."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.interface.errors import FileError

pytestmark = pytest.mark.one_of(2)

RNG = np.random.default_rng(3)


class Error(ctypes.Structure):
    _fields_ = [
        ("status", ctypes.c_int64),
        ("site", ctypes.c_int64),
        ("value", ctypes.c_int64),
        ("extent", ctypes.c_int64),
        ("numbers", ctypes.c_int64 * 16),
        ("reserved", ctypes.c_int64 * 4),
    ]


class Library:
    """An exported function, called as C would."""

    def __init__(self, folder, name):
        self.library = ctypes.CDLL(os.fspath(folder / f"lib{name}.so"))
        self.name = name
        self.error = Error()

    def __call__(self, *arguments):
        passed = [_passed(one) for one in arguments]
        function = getattr(self.library, self.name)
        function.argtypes = None
        return function(*passed, ctypes.byref(self.error))

    def shapes(self, *arguments):
        return getattr(self.library, f"{self.name}_shapes")(*map(_passed, arguments))

    @property
    def message(self):
        text = ctypes.create_string_buffer(400)
        size = getattr(self.library, f"{self.name}_message")(ctypes.byref(self.error), text, 400)
        assert size == len(text.value)
        return text.value.decode()


def _passed(value):
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, np.generic):
        return np.ctypeslib.as_ctypes_type(value.dtype)(value.item())
    return {int: ctypes.c_int64, float: ctypes.c_double, bool: ctypes.c_uint8}.get(type(value), lambda v: v)(
        value
    )


def exported(folder, function, *specs, name=None, threads="openmp", **options):
    compiled = nt.jit(function, **options).lower(*specs).compile()
    compiled.export_c(folder, name, threads=threads)
    return compiled, Library(folder, name or function.__name__)


def same(got, wanted):
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_array_equal(
        got.view(np.uint8) if got.ndim else got, wanted.view(np.uint8) if got.ndim else wanted
    )


# ---- programs ---------------------------------------------------------------------------------------


def ratio_iou(x1, y1, w1, h1, x2, y2, w2, h2, eps=1e-5):
    xi = np.maximum(x1, x2)
    yi = np.maximum(y1, y2)
    wi = np.clip(np.minimum(x1 + w1, x2 + w2) - xi, 0, None)
    hi = np.clip(np.minimum(y1 + h1, y2 + h2) - yi, 0, None)
    inter = wi * hi
    return inter / (w1 * h1 + w2 * h2 - inter + eps)


def lstm_step(x, h, c, w, u, b):
    gates = x @ w + h @ u + b
    n = h.shape[1]
    i, f, g, o = (gates[:, k * n : (k + 1) * n] for k in range(4))
    i, f, o = (1 / (1 + np.exp(-one)) for one in (i, f, o))
    c = f * c + i * np.tanh(g)
    return o * np.tanh(c), c


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def loss(x, y):
    return ((np.tanh(x) - y) ** 2).sum()


def picked(x, k):
    total = 0.0
    for i in range(k.shape[0]):
        total += x[k[i]]
    return total


def test_iou_on_one_thread_and_two(tmp_path):
    arrays = [RNG.random((100, 1000)).astype("f4") for _ in range(8)]
    compiled, library = exported(tmp_path, ratio_iou, *arrays)
    wanted = compiled(*arrays)
    for count in (1, 2):
        library.library.ratio_iou_set_threads(count)
        assert library.library.ratio_iou_get_threads() == count
        out = np.full((100, 1000), np.nan, "f4")
        assert library(*arrays, out) == 0
        same(out, wanted)
    assert (tmp_path / "libratio_iou.so").stat().st_size < 60_000
    assert "eps = 1e-05" in (tmp_path / "ratio_iou.h").read_text()
    compiled.export_c(tmp_path / "serial", threads="none")
    needed = subprocess.run(
        ["nm", "-D", tmp_path / "serial" / "libratio_iou.so"], capture_output=True, text=True
    )
    assert not re.search("gomp|GOMP|omp_|pthread|Py", needed.stdout)
    serial, out = Library(tmp_path / "serial", "ratio_iou"), np.empty((100, 1000), "f4")
    assert serial(*arrays, out) == 0
    same(out, wanted)


@pytest.fixture(scope="module")
def dynamic_softmax(tmp_path_factory):
    return exported(tmp_path_factory.mktemp("softmax"), softmax, nt.spec(("rows", "columns"), "f4"))


def test_unknown_extents(dynamic_softmax):
    compiled, library = dynamic_softmax
    for shape in [(2, 2), (5, 7), (300, 33)]:
        x = (RNG.random(shape) * 9).astype("f4")
        x[0, 0] = {5: np.nan, 300: np.inf}.get(shape[0], 1)
        sizes = np.zeros(2, "i8")
        assert library.shapes(*shape, sizes) == 0 and tuple(sizes) == shape
        out = np.empty(shape, "f4")
        assert library(x, *shape, out) == 0
        same(out, compiled(x))


def test_wrong_arguments_have_a_status_and_a_message(dynamic_softmax):
    _, library = dynamic_softmax
    x, out = np.ones((4, 4), "f4"), np.full((4, 4), 7, "f4")
    assert library(x, 4, 1, out) == 33
    assert library.message == (
        "the extent columns must be at least 2: the program was compiled for no fewer (1)"
    )
    assert library(x, -3, 4, out) == 33 and library(x, 0, 4, out) == 33
    assert library.shapes(4, 0, np.zeros(2, "i8")) == 33
    assert library(x, 1 << 40, (1 << 40) + 3, out) == 33
    assert library.message == "x would have more elements than memory holds, by this extent (1099511627779)"
    null = ctypes.c_void_p(None)
    assert library.shapes(4, 4, null) == 32
    assert library(null, 4, 4, out) == 32 and "x is NULL" in library.message
    assert library(x, 4, 4, null) == 32 and "result is NULL" in library.message
    odd = np.zeros(70, np.uint8)[1:65]
    assert library(odd, 4, 4, out) == 32 and "not aligned" in library.message
    assert library(x, 4, 4, x) == 34 and library.message.startswith("result shares memory with x")
    assert library(x, 4, 4, x[1:]) == 34
    assert (out == 7).all() and (x == 1).all()

    library.error = Error()
    assert library.message == ""
    assert library.library.softmax(_passed(x), ctypes.c_int64(4), ctypes.c_int64(1), _passed(out), None) == 33


def test_lstm_step_and_its_gradient(tmp_path):
    n, h = 3, 5
    arrays = [RNG.standard_normal(s) for s in [(n, 4), (n, h), (n, h), (4, 4 * h), (h, 4 * h), (4 * h,)]]
    compiled, library = exported(tmp_path, lstm_step, *arrays)
    outs = [np.empty((n, h)), np.empty((n, h))]
    assert library(*arrays, *outs) == 0
    for got, wanted in zip(outs, compiled(*arrays), strict=True):
        same(got, wanted)

    def total(x, h, c, w, u, b):
        h, c = lstm_step(x, h, c, w, u, b)
        return (h * c).sum()

    compiled = nt.jit(nt.value_and_grad(total, argnums=(3, 5))).lower(*arrays).compile()
    compiled.export_c(tmp_path, "lstm_grad")
    value, w, b = np.empty(()), np.empty((4, 4 * h)), np.empty(4 * h)
    assert Library(tmp_path, "lstm_grad")(*arrays, value, w, b) == 0
    wanted = compiled(*arrays)
    same(value[()], wanted[0]), same(w, wanted[1][0]), same(b, wanted[1][1])


def test_gradient_with_unknown_extents(tmp_path):
    specs = nt.spec(("n",), "f8"), nt.spec(("n",), "f8")
    compiled = nt.jit(nt.grad(loss)).lower(*specs).compile()
    compiled.export_c(tmp_path, "loss_grad")
    library = Library(tmp_path, "loss_grad")
    for n in (2, 7, 1000):
        x, y = RNG.standard_normal((2, n))
        out = np.empty(n)
        assert library(x, n, y, out) == 0
        same(out, compiled(x, y))


def test_an_index_error(tmp_path):
    compiled, library = exported(tmp_path, picked, nt.spec((None,), "f8"), nt.spec((None,), "i8"))
    x, out = np.arange(5.0), np.empty(())
    assert library(x, 5, np.array([1, -1, 4]), 3, out) == 0 and out == 9.0
    k = np.array([1, 5, 0])
    assert library(x, 5, k, 3, out) == 1
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        compiled(x, k)
    assert re.fullmatch(
        r"IndexError: index 5 is out of bounds for axis 0.* with size 5 \(test_exported_c\.py:\d+:\d+\)",
        library.message,
    )


def test_messages_of_raise_and_assert(tmp_path):
    def checked(x, n, t):
        if n < 0:
            raise ValueError(f"n is {n} of 100%, t is {t}")
        assert t < 9, "t is large"
        return x * n

    _, library = exported(tmp_path, checked, nt.spec((3,), "f8"), 1, 2.0)
    x, out = np.ones(3), np.empty(3)
    assert library(x, 2, 2.0, out) == 0 and (out == 2).all()
    for t in (0.1, 1e300, 1e-5, 3.0, 123456789.125, 1e15, 1e16, -1e22, float("inf"), float("nan"), -0.0):
        assert library(x, -2, t, out) == 9
        assert library.message.startswith(f"ValueError: n is -2 of 100%, t is {t} (test_exported_c.py:")
    assert library(x, 2, 9.5, out) == 2 and library.message.startswith("AssertionError: t is large (")


# ---- arguments and results --------------------------------------------------------------------------


def test_results_of_unknown_extents_and_the_allocator(tmp_path):
    def positive(x):
        y = x[x > 0] * 2
        return y, y.sum()

    compiled, library = exported(tmp_path, positive, nt.spec((None,), "f8"))
    c = library.library
    c.positive_release.argtypes = [ctypes.c_void_p]
    held = {}
    libc = ctypes.CDLL(None)
    libc.aligned_alloc.restype, libc.aligned_alloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t] * 2
    libc.free.argtypes = [ctypes.c_void_p]

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
    def allocate(context, alignment, size):
        if size > limit:
            return None
        held[address := libc.aligned_alloc(alignment, size)] = size
        return address

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    def release(context, address):
        held.pop(address)
        libc.free(address)

    limit = 1 << 30
    allocator = (ctypes.c_void_p * 3)(
        ctypes.cast(allocate, ctypes.c_void_p), ctypes.cast(release, ctypes.c_void_p), 0
    )
    for _ in range(2):
        for x in (np.array([3.0, -1, 2]), -np.ones(4), RNG.standard_normal(500)):
            place, shape, total = ctypes.c_void_p(), np.zeros(1, "i8"), np.empty(())
            assert library(x, len(x), ctypes.byref(place), shape, total) == 0
            got = np.ctypeslib.as_array((ctypes.c_double * int(shape[0])).from_address(place.value))
            wanted = compiled(x)
            same(got.copy(), wanted[0]), same(total[()], wanted[1])
            c.positive_release(place)
            assert not held
        c.positive_set_allocator(allocator)
    limit = 1
    assert library(x, len(x), ctypes.byref(place), shape, total) == 4 and not place.value and not held
    assert library.message.startswith("MemoryError: out of memory in a kernel")
    c.positive_release(None)
    c.positive_set_allocator(None)


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"], ids=lambda one: np.dtype(one).name
)
def test_element_types(tmp_path, dtype):
    def both(x, y):
        return np.where(x == y, x, y), x[0, 0]

    x = RNG.integers(0, 2, (3, 4)).astype(dtype)
    y = RNG.integers(0, 2, (3, 4)).astype(dtype)
    compiled, library = exported(tmp_path, both, x, y, threads="none")
    out, first = np.empty((3, 4), dtype), np.empty((), dtype)
    assert library(x, y, out, first) == 0
    wanted = compiled(x, y)
    same(out, wanted[0]), same(first[()], wanted[1])


def test_strided_and_written_arguments_and_numbers(tmp_path):
    def moved(x, y, n, f, b):
        x[1:] += y[1:] * n
        x[0] = np.where(b, f, x[0])
        return x.shape[0] * n, n, x, {"f": f, "none": None, "two": 2.5}

    spec = nt.spec((None,), "f8", layout="strided")
    compiled, library = exported(tmp_path, moved, spec, spec, 3, np.float32(1.5), True)
    base, y = np.arange(20.0), np.arange(10.0)
    y = y[::-1]
    for x in (base[::2], base[::-2], base[19:0:-2]):
        mine, theirs = x.copy(), base.copy()
        mine_there = np.repeat(mine, 2)[::2]
        wanted = compiled(mine_there, y, 3, np.float32(1.5), True)
        mine = mine_there.copy()
        out = [np.empty((), "i8"), np.empty((), "i8"), np.empty((), "f4"), np.empty(())]
        x = np.ndarray(10, "f8", theirs, x.ctypes.data - base.ctypes.data, x.strides)
        assert library(x, 10, x.strides[0] // 8, y, -1, 3, np.float32(1.5), True, *out) == 0, library.message
        same(x.copy(), mine)
        assert [int(out[0]), int(out[1])] == [wanted[0], wanted[1]]
        assert (out[2], out[3]) == (1.5, 2.5)
    assert library(base, 10, 0, y, -1, 3, np.float32(1), True, *out) == 34
    assert library.message == "elements of x, which is written, share memory"
    assert library(base, 10, 1, base, 1, 3, np.float32(1), True, *out) == 34


def test_arrays_in_another_memory_order_and_no_elements(tmp_path):
    def turned(x):
        return (x + 1).T.copy(), x.sum(axis=1)

    x = np.asfortranarray(RNG.random((3, 4)))
    compiled, library = exported(tmp_path, turned, x)
    wanted = compiled(x)
    outs = [np.empty((4, 3)), np.empty(3)]
    assert library(x, *outs) == 0
    same(outs[0], wanted[0]), same(outs[1], wanted[1])
    compiled, library = exported(tmp_path, turned, np.ones((3, 0)), name="none")
    out = np.ones(3)
    assert library(ctypes.c_void_p(None), ctypes.c_void_p(None), out) == 0 and (out == 0).all()


def test_reshaped_results_and_quotients(tmp_path):
    def halved(x, y):
        return x[: x.shape[0] // 2] * 2, (y + 1).reshape(3, -1)

    compiled, library = exported(tmp_path, halved, nt.spec((None,), "f4"), nt.spec((2, 6), "f4"))
    y = RNG.random((2, 6)).astype("f4")
    assert library.shapes(2, np.zeros(1, "i8")) == 33  # the result would have one element
    for n in (4, 7, 100):
        x, size = RNG.random(n).astype("f4"), np.zeros(1, "i8")
        assert library.shapes(n, size) == 0 and size == n // 2
        outs = np.empty(n // 2, "f4"), np.empty((3, 4), "f4")
        assert library(x, n, y, *outs) == 0
        for got, wanted in zip(outs, compiled(x, y), strict=True):
            same(got, wanted)


WEIGHTS = np.ones(3)


@pytest.mark.parametrize(
    ("function", "arguments", "options", "message"),
    [
        (lambda x: x[1:], 1, {}, "a view of an array"),
        (lambda x: [x[i] * 2 for i in range(x.shape[0]) if x[i] > 0], 1, {}, "a list that a loop makes"),
        (lambda x: (x * 2, "text"), 1, {}, "'text', a constant that is no number"),
        (lambda x: x * WEIGHTS, 1, {}, r"reads arrays from outside \('WEIGHTS'\)"),
        (lambda x: print(x[0]), 1, {}, "prints or calls Python"),
        (lambda x: x + 1, 1, {"target": "interp"}, "its target is not 'cpu'"),
    ],
)
def test_what_c_has_no_form_for_is_refused(tmp_path, function, arguments, options, message):
    compiled = nt.jit(function, **options).lower(np.ones(3)).compile()
    with pytest.raises(nt.UnsupportedError, match=message):
        compiled.export_c(tmp_path / "none", "f")
    assert not (tmp_path / "none").exists()


def test_names_folders_and_compilers_that_cannot_be_used(tmp_path):
    compiled = nt.jit(softmax).lower(np.ones((2, 3))).compile()
    for name in ("int", "two words", "é", "1st", "template"):
        with pytest.raises(nt.UnsupportedError, match="is no name of a function in C"):
            compiled.export_c(tmp_path, name)
    with pytest.raises(nt.UnsupportedError, match="no threads='many'"):
        compiled.export_c(tmp_path, threads="many")
    with pytest.raises(nt.UnsupportedError, match="there is no 'no-such-compiler'"):
        compiled.export_c(tmp_path, cc="no-such-compiler")
    compiled.export_c(tmp_path / "options", cc="cc -g0")
    assert (tmp_path / "options" / "libsoftmax.so").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        compiled.export_c(tmp_path / "file" / "dir")
    with pytest.raises(nt.UnsupportedError, match="cannot be built: false failed"):
        compiled.export_c(tmp_path / "half", cc="false")
    assert os.listdir(tmp_path / "half") == []
    compiled.save(tmp_path / "f.nestor")
    with pytest.raises(nt.UnsupportedError, match="was loaded from a file"):
        nt.load(tmp_path / "f.nestor").export_c(tmp_path)


def test_messages_call_parameters_by_their_names_in_c(tmp_path):
    def f(x, n):
        return x * n

    _, library = exported(tmp_path, f, nt.spec(("n",), "f8"), 2)
    assert "int64_t n_2" in (tmp_path / "f.h").read_text()
    assert library(np.ones(1), 1, 2, np.ones(1)) == 33
    assert library.message.startswith("the extent n_2 must be at least 2")


def test_the_source_is_not_compiled_beside_the_library(tmp_path):
    exported(tmp_path, softmax, nt.spec((4, 4), "f4"))
    built = subprocess.run(["cc", "-c", "softmax.c"], cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode and "softmax.c is in softmax.o" in built.stderr
    subprocess.run(
        ["cc", "-DNESTOR_BUILD_SOFTMAX", "-c", "softmax.c", "-o", "again.o"], cwd=tmp_path, check=True
    )
