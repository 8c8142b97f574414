"""Complex numbers: what NumPy gives, bit for bit where nothing rounds in between, on every target and in every layout."""

import contextlib
import io
import linecache
import re
import warnings

import nestor as nt
import numpy as np
import pytest
from agreement import agrees
from hypothesis import given, settings
from hypothesis import strategies as st

TARGETS = ["cpu", "interp", "cuda-sim"]

pytestmark = [pytest.mark.one_of(6), pytest.mark.filterwarnings("ignore")]

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-300, 1e300, -1e308, 750.0, -720.0, 1e-5, 22.5]
SPECIAL += [0.7071067811865476, np.inf, -np.inf, np.nan]


def numbers(*shape, dtype="c16", seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def grid(dtype):
    """Every pair of special values as a complex number."""
    values = np.array(SPECIAL).astype(np.finfo(dtype).dtype)
    pairs = np.stack(np.meshgrid(values, values, indexing="ij"), -1).reshape(-1, 2)
    return pairs.view(dtype)[:, 0]


def program(text, names="xyzm"):
    """The function that returns an expression in those of `names` that it has."""
    used = [n for n in names if re.search(rf"(?<![\w.']){n}(?!\w|')", text)]
    source = f"def f({', '.join(used)}):\n    return {text}\n"
    file = f"<test {text}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {"np": np}
    exec(compile(source, file, "exec"), space)
    return space["f"], used


def close(got, want, ulps):
    """Within `ulps` of the modulus; infinities, NaN and signs of zero equal, but for the sign of a zero beside a NaN."""
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if want.dtype.kind != "c":
        np.testing.assert_allclose(got, want, rtol=ulps * np.finfo(want.dtype).eps)
        return
    limits = np.finfo(want.dtype)
    size = np.abs(want)
    bound = ulps * limits.eps * np.maximum(np.where(np.isfinite(size), size, limits.max), limits.tiny)
    for one, other, beside in ((got.real, want.real, want.imag), (got.imag, want.imag, want.real)):
        equal = (one == other) & ((np.signbit(one) == np.signbit(other)) | np.isnan(beside))
        fine = equal | (np.isnan(one) & np.isnan(other)) | ((one != 0) & (np.abs(one - other) <= bound))
        assert fine.all(), f"{got[~fine][:4]}, NumPy {want[~fine][:4]}"


EXACT = [
    *(
        "abs",
        "negative",
        "conjugate",
        "positive",
        "reciprocal",
        "sign",
        "isnan",
        "isinf",
        "isfinite",
        "isreal",
    ),
    *("iscomplex", "rint", "logical_not"),
]
FUNCTIONS = [
    *(
        "exp",
        "log",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "angle",
        "exp2",
        "log2",
        "log10",
        "log1p",
        "expm1",
    ),
]
INVERSES = ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"]
FUNCTIONS += INVERSES


@pytest.mark.parametrize("dtype", ["c16", "c8"])
@pytest.mark.parametrize("name", [*EXACT, *FUNCTIONS])
def test_functions_on_special_values(name, dtype):
    function, _ = program(f"np.{name}(x)")
    values = grid(dtype)
    with np.errstate(all="ignore"):
        want = function(values)
    got = nt.jit(function)(values)
    if want.dtype == bool:
        np.testing.assert_array_equal(got, want)
    else:
        close(got, want, 2 if name in ("abs", "sign") else 0 if name in EXACT else 8)


def beside_the_cuts():
    """Numbers of all sizes, and those that are close to 1, -1, i and -i, on the cuts and on both sides of them."""
    rng = np.random.default_rng(7)
    sizes = 10.0 ** rng.integers(-200, 200, 300)
    values = (rng.standard_normal(300) + 1j * rng.standard_normal(300)) * sizes
    near = 1 + rng.standard_normal(300) * 10.0 ** -rng.integers(1, 17, 300)
    aside = rng.choice([0.0, -0.0, 1e-300, -1e-20, 1e-16, -1e-8], 300)
    pairs = np.stack([near, aside], -1).view("c16")[:, 0]
    return np.concatenate([values, pairs, -pairs, 1j * pairs, 3 * pairs, np.conj(1j * pairs)])


@pytest.mark.parametrize("name", INVERSES)
def test_inverse_functions_beside_their_branch_cuts(name):
    function, _ = program(f"np.{name}(x)")
    values = beside_the_cuts()
    got, want = nt.jit(function)(values), function(values)
    for ours, numpys in (
        (got.real, want.real),
        (got.imag, want.imag),
    ):  # each part by itself: both are accurate
        np.testing.assert_allclose(ours, numpys, rtol=8 * np.finfo("f8").eps, atol=1e-307)
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(numpys))


@pytest.mark.parametrize("name", INVERSES)
def test_inverse_functions_on_other_targets_and_their_derivatives(name):
    function, _ = program(f"np.{name}(x)")
    x = np.array([0.3 + 0.4j, -0.7 - 2j, 3 + 0.5j, -3 + 0.5j, -2 - 0.1j, 0.1 + 3j, -0.2 - 4j])
    for target in ("interp", "cuda-sim"):
        close(nt.jit(function, target=target)(x), function(x), 8)
    step = 1e-6
    slope = (function(x + step) - function(x - step)) / (2 * step)
    np.testing.assert_allclose(nt.jvp(function, (x,), (np.ones_like(x),))[1], slope, rtol=1e-7)
    np.testing.assert_allclose(nt.grad(function, holomorphic=True)(complex(x[3])), slope[3], rtol=1e-7)


BINARY = ["x + y", "x - y", "x / y", "x == y", "x != y", "x < y", "x <= y", "x > y", "x >= y"]
BINARY += ["np.maximum(x, y)", "np.minimum(x, y)", "np.fmax(x, y)", "np.fmin(x, y)"]


@pytest.mark.parametrize("dtype", ["c16", "c8"])
@pytest.mark.parametrize("text", BINARY)
def test_pairs_of_special_values(text, dtype):
    function, _ = program(text)
    values = grid(dtype)[::5]
    x, y = [np.ascontiguousarray(v) for v in np.broadcast_arrays(values[:, None], values)]
    with np.errstate(all="ignore"):
        want = function(x, y)
    got = nt.jit(function)(x, y)
    if want.dtype == bool:
        np.testing.assert_array_equal(got, want)
    else:
        close(got, want, 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["c16", "c8"])
def test_each_target(target, dtype):
    def f(x, y):
        z = x * y + 2j
        return (
            z,
            z.real - z.imag,
            abs(z),
            np.exp(z),
            z.sum(),
            z.prod(axis=0),
            z.max(),
            z.argmin(),
            z.astype("c8"),
        )

    tolerance = 1e-12 if dtype == "c16" else 1e-4
    x, y = numbers(3, 5, dtype=dtype), numbers(5, dtype=dtype, seed=1)
    agrees(f, x, y, target=target, tolerance=tolerance)


LAYOUTS = [
    lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: x[:, ::-2], lambda x: x[:0], lambda x: x[1:2, :1],
    lambda x: np.broadcast_to(x[0], x.shape), lambda x: x[1, 2, ...],
]  # fmt: skip


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
@pytest.mark.parametrize("dynamic", [False, True])
def test_layouts(layout, dynamic):
    def f(x):
        return x * (1 - 2j), x.conj(), x.T, x.real, x.imag + 1, np.abs(x), x.sum()

    for dtype, seed in (("c16", 0), ("c8", 1), ("c16", 2)):
        x = LAYOUTS[layout](numbers(4, 6 + seed, dtype=dtype, seed=seed))
        agrees(f, x, dynamic=dynamic or None, tolerance=1e-12 if dtype == "c16" else 1e-5)


def test_memory_that_is_not_aligned_and_read_only():
    def f(x):
        return x * 2 + 1j

    packed = np.zeros(5, [("a", "u1"), ("z", "c16")])
    packed["z"] = numbers(5)
    agrees(f, packed["z"], tolerance=1e-15)
    shifted = np.zeros(11)[1:].view("c16")  # parts are aligned, elements are 8 bytes from it
    agrees(f, shifted)
    frozen = numbers(5)
    frozen.flags.writeable = False
    agrees(f, frozen)


PROMOTED = [
    "x + 1", "x + 1.5", "1j * x", "y * 1j", "z + 2j", "x - y", "y / x", "x * z", "1 / x", "x / 2", "x == 1",
    "y == x", "y < 1j", "np.float32(2) * 1j * y", "np.complex64(1j) * y", "x * np.float32(2)",
    "np.where(y > 0, x, 0)", "np.where(y > 0, 1j, y)", "np.full(3, 1 + 2j) + x[0]", "np.zeros(3, complex)",
    "np.array([x[0], 1, y[0]])", "np.array([[1j, 2], [3, 4]])", "np.concatenate([x, y])", "np.stack([x, z])",
    "np.arange(4) * 1j", "np.linspace(0, 1j, 5)", "x.astype('f8')", "x.astype('f4')", "x.astype(int)",
    "x.astype(bool)", "y.astype(complex)", "z.astype('c8')", "x.astype('c8')", "x ** 2", "x ** 3", "x ** -1",
    "x ** 0.5", "x ** 0", "x ** 5", "x ** -3", "x ** y", "y ** x", "2 ** x", "x ** z", "x ** 2.5",
    "x ** (1 + 2j)", "(2 + 1j) ** x", "np.power(x, 3)", "np.float_power(x, 2)",
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "rows"), [("c16", PROMOTED), ("c8", PROMOTED[::4])], ids=["c16", "c8"])
def test_promotion_and_powers(dtype, rows):
    x, y, z = numbers(9, dtype=dtype), numbers(9).real.astype(np.finfo(dtype).dtype), np.arange(9) % 4
    wrong = []
    for text in rows:
        function, used = program(text)
        try:
            agrees(
                function,
                *[{"x": x, "y": y, "z": z}[n] for n in used],
                tolerance=1e-10 if dtype == "c16" else 2e-4,
            )
        except (nt.NestorError, AssertionError) as error:
            wrong.append(f"{text}: {error}")
    assert not wrong, "\n".join(wrong)


def test_powers_on_special_values():
    values = grid("c16")[::5]
    for text in ("x ** 0", "x ** 1", "x ** 0.5", "x ** -1"):
        function, _ = program(text)
        with np.errstate(all="ignore"):
            close(nt.jit(function)(values), function(values), 4)
    zeros = np.zeros(6, complex)
    exponents = np.array([0, 1, -1, 2 + 1j, -2j, 0.5])
    function, _ = program("x ** y")
    with np.errstate(all="ignore"):
        close(nt.jit(function)(zeros, exponents), function(zeros, exponents), 0)


CALLS = [
    "np.dot(x, y)", "np.vdot(x, y)", "np.vdot(m, m.real)", "m @ m.T", "m.real @ m.T", "np.inner(x, y)",
    "np.outer(x, y)", "np.kron(m, m)", "np.einsum('ij,kj->ik', m, m)", "np.einsum('ij,ij->', m, m.conj())",
    "np.trace(m)", "np.tensordot(m, m, ([1], [1]))", "np.vecdot(m, m)", "np.linalg.norm(x)",
    "np.linalg.norm(m, axis=1)", "np.linalg.norm(x, 3)", "x.mean()", "m.mean(axis=0)", "x.var()",
    "m.std(axis=1)", "x.std(ddof=1)", "np.cov(m)", "np.correlate(x, y, 'full')", "np.convolve(x, y)",
    "np.cumsum(x)", "np.cumprod(x)", "np.sort(x)", "np.argsort(x)", "np.sort(m, axis=0)", "m.max(axis=1)",
    "m.argmax(axis=0)", "np.ptp(x)", "np.any(x)", "np.all(m, axis=1)", "np.count_nonzero(x)",
    "np.isclose(x, y)", "np.allclose(x, x)", "np.array_equal(x, y)", "np.diff(x)", "np.linalg.det(m[:, :3])",
    "np.linalg.inv(m[:, :3])", "np.linalg.solve(m[:, :3], m)", "x[::2]", "m[:, 1]", "m[1, 2]",
    "x[[1, 2, -1]]", "x[x.real > 0].sum()", "np.take(x, [1, 2])", "m.reshape(4, 3)", "m.ravel()",
    "np.roll(x, 2)", "np.flip(m)", "np.pad(x, 2)", "np.tile(x, 2)", "np.median(x)", "np.nansum(x)",
    "np.nanmean(x)", "np.polyval(x[:3], y)", "np.round(x, 1)", "np.nan_to_num(x)", "np.real(x)",
    "np.imag(x[0])", "np.add.reduce(m, axis=1)", "np.multiply.outer(x, y)", "np.sum(x, where=x.real > 0)",
    "np.sum(y.real, dtype=complex)", "np.vectorize(lambda z: z * 2 if abs(z) > 1 else z.conjugate())(x)",
    "complex(x.real[0], 2) * x", "complex(x[0])", "x.item(0)",
]  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_numpy_calls(part):
    arguments = {"x": numbers(9), "y": numbers(9, seed=1), "m": numbers(3, 4, seed=2)}
    wrong = []
    for text in CALLS[part::4]:
        function, used = program(text, "xym")
        try:
            agrees(function, *[arguments[n] for n in used], tolerance=1e-9)
        except (nt.NestorError, AssertionError) as error:
            wrong.append(f"{text}: {error}")
    assert not wrong, "\n".join(wrong)


# ---- loops, writes, numbers of Python -----------------------------------------------------------------


def escapes(c, counts):
    for i in range(c.shape[0]):
        z, k = 0j, 0
        while abs(z) < 2.0 and k < 20:
            z = z * z + c[i]
            k += 1
        counts[i] = k
    return counts


def updated(x, y):
    x[1:-1] += x[:-2] * 2j
    x[0] = 3
    x[y.real > 0] -= 1j
    for i in range(len(x)):
        y[i] = x[i] * x[i].conj() + 1j * i
    y *= x
    y /= 2 - 1j
    return x.sum(), y[::-1] * 1


def summed(x):
    total = np.zeros(x.shape[0], complex)
    product = np.ones(x.shape[0], "c16")
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total[i] += x[i, j]
            product[i] *= x[i, j]
        product[i] += x[i].max() * x[i].prod()
    return total, product


def carried(x, n):
    h = x[0]
    for t in range(n):
        h = np.exp(1j * h.real) * h + x[t]
    return h if h else x[0]


@pytest.mark.parametrize("target", TARGETS)
def test_loops_and_writes(target):
    agrees(escapes, numbers(9), np.zeros(9, int), target=target)
    agrees(updated, numbers(7), numbers(7, seed=1), target=target, tolerance=1e-12)
    agrees(updated, numbers(14)[::2], numbers(7, seed=1)[::-1], target=target, tolerance=1e-12)
    agrees(summed, numbers(3, 5), target=target, tolerance=1e-12)
    if target != "cuda-sim":  # numbers that the host carries there have to be in memory, real ones too
        agrees(carried, numbers(4), 3, target=target, tolerance=1e-12)


def test_real_arrays_take_the_real_part():
    def f(r, x):
        r[...] = x
        return r

    agrees(f, np.zeros(5), numbers(5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy warns; nothing is said here
        nt.jit(f)(np.zeros(5), numbers(5))


def test_overlapping_arguments():
    def f(x, y):
        x[1:] = y[:-1] * 2
        y[0] += 1j
        return x.sum()

    ours, numpys = numbers(8), numbers(8)
    got, want = nt.jit(f)(ours[1:], ours[:-1]), f(numpys[1:], numpys[:-1])
    np.testing.assert_allclose(got, want, rtol=1e-14)
    np.testing.assert_array_equal(ours, numpys)

    def parts(x, r):
        r[::2] = x.imag[::2]
        return x * 2

    ours, numpys = numbers(8), numbers(8)
    np.testing.assert_array_equal(nt.jit(parts)(ours, ours.real), parts(numpys, numpys.real))
    np.testing.assert_array_equal(ours, numpys)


def of_python(z, w, x):
    return z * w + 2, z - w, -z, z.real, z.imag, z.conjugate(), abs(z), z == w, z != 1, x * z, x + w


@pytest.mark.parametrize("target", TARGETS)
def test_numbers_are_arguments_and_results(target):
    jitted = agrees(of_python, 1 + 2j, 3 - 1j, numbers(4, dtype="c8"), target=target)
    x = numbers(4, dtype="c8")
    for z, w in ((2j, 0j), (complex("inf"), 1 - 1j)):
        for got, want in zip(jitted(z, w, x), of_python(z, w, x), strict=True):
            assert type(got) is type(want)
            np.testing.assert_array_equal(got, want)
    agrees(of_python, np.complex64(1 + 2j), np.complex128(3), x, target=target, tolerance=1e-6)
    agrees(of_python, 1.5, np.complex128(3), x.astype("c16"), target=target)


def test_modulus_that_is_no_number():
    def f(z, x):
        return x * abs(z + x.shape[0])

    with pytest.raises(OverflowError, match="absolute value too large"):
        nt.jit(f)(1e308 + 1.5e308j, numbers(2))


def shown(x):
    print(x[0], x, x[0].real)
    for i in range(2):
        print("i", i, x[i])
    print(f"{x[1]:.2f}")
    return x


@pytest.mark.parametrize("target", ["cpu", "interp"])
def test_printing(target):
    x = numbers(3)
    texts = []
    for run in (shown, nt.jit(shown, target=target)):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            run(x)
        texts.append(text.getvalue())
    assert texts[0] == texts[1]


def test_parts_share_memory():
    def f(x):
        y = x * 2
        return x.real, x.imag[1:], x.T, y, y.real

    x = numbers(3, 4)
    real, imaginary, _, y, real_of_y = agrees(f, x)(x)
    assert np.shares_memory(real, x)
    assert np.shares_memory(imaginary, x)
    assert np.shares_memory(real_of_y, y)


def test_results_of_unknown_extents():
    def f(x, r):
        y = x[r > 0]
        return x[abs(x) > 1], y * 2, y.sum(), y.real + 1

    for dtype in ("c16", "c8"):
        for count in (9, 2000, 0):
            x = numbers(count, dtype=dtype)
            agrees(f, x, x.real.copy(), tolerance=1e-3)


WEIGHTS, FACTOR = numbers(4), 2j


def with_outside(x):
    return x * WEIGHTS + FACTOR, x * KEEPER.weights


class KEEPER:
    weights = numbers(4, seed=3)


def test_numbers_and_arrays_from_outside():
    global FACTOR
    x, jitted = np.arange(4.0), nt.jit(with_outside)
    for k in range(3):
        for got, want in zip(jitted(x), with_outside(x), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-14)
        WEIGHTS[k] = 7j - k
        KEEPER.weights[1] += 1j
        FACTOR = complex(k, -1)
    KEEPER.weights = numbers(4, dtype="c8")
    for got, want in zip(jitted(x), with_outside(x), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_second_and_third_calls():
    def f(x, k):
        return x * k + 1, x.sum()

    jitted = nt.jit(f)
    arguments = [
        (numbers(4), 2), (numbers(7), 2j), (numbers(7).real, 2j), (numbers(3, 2, dtype="c8"), 1.5), (numbers(4), 3),
        (numbers(9), np.complex64(1j)), (numbers(0), 1j),
    ]  # fmt: skip
    for x, k in [*arguments, *arguments]:
        for got, want in zip(jitted(x, k), f(x, k), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-5)


def test_specs_texts_and_out():
    def f(x, y):
        return x * y

    low = nt.jit(f).lower(nt.spec((None, 4), "c8"), nt.spec(4, "c64"))
    assert "tensor<?x4xcomplex<f32>>" in low.as_text("nt")
    assert "memref<?x4x2xf32>" in low.as_text("nest")
    for level in ("scf", "llvm", "llvm-ir", "gpu", "cuda"):
        text = low.as_text(level).replace(__file__, "").replace("test_complex.py", "")
        assert "complex" not in text
    x, y = numbers(3, 4, dtype="c8"), numbers(4, dtype="c8")
    np.testing.assert_allclose(low.compile()(x, y), f(x, y), rtol=1e-6)
    out = np.empty((3, 4), "c8")
    assert nt.jit(f)(x, y, out=out) is out
    np.testing.assert_allclose(out, f(x, y), rtol=1e-6)
    with pytest.raises(nt.NestorError):
        nt.jit(f)(x, y, out=np.empty((3, 4), "f4"))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_arithmetic_of_drawn_arrays(data):
    """One program for all extents and any strides: sums, products, quotients and parts of drawn arrays."""
    count = data.draw(st.integers(2, 9))
    step = data.draw(st.sampled_from([1, 2, -1, -3]))
    dtype = data.draw(st.sampled_from(["c8", "c16"]))
    part = st.sampled_from([*SPECIAL, 2.0, -7.5])
    drawn = [
        data.draw(st.lists(st.tuples(part, part), min_size=count * 3, max_size=count * 3)) for _ in range(2)
    ]
    x, y = [np.array([complex(*p) for p in one]).astype(dtype)[::step] for one in drawn]
    with np.errstate(all="ignore"):
        want = _drawn(x, y)
    for got, expected in zip(_DRAWN(x, y), want, strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def _drawn(x, y):
    return x + y, x - y, x / y, -x, x.conj(), x.real, y.imag, x == y, x < y, np.maximum(x, y), np.isnan(x)


_DRAWN = nt.jit(_drawn, dynamic=True)


# ---- what is refused, by name -------------------------------------------------------------------------

REFUSED = [
    ("np.floor(x)", "ufunc 'floor' not supported for the input types"),
    ("x // y", "ufunc 'floor_divide' not supported"),
    ("np.arctan2(x, y)", "ufunc 'arctan2' not supported"),
    ("np.real_if_close(x)", "whether its result is complex depends on the elements"),
    ("float(x[0])", "not 'complex'"),
    ("z < 1", "unsupported operand type for less: 'complex'"),
    ("z / 2.0", "a quotient of Python's complex numbers"),
    ("z ** -2", r"\*\* of Python's complex numbers"),
    ("z ** 2.5", r"\*\* of Python's complex numbers"),
    ("2 ** z", r"\*\* of Python's complex numbers"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(text, message):
    function, used = program(text)
    arguments = {"x": numbers(3), "y": numbers(3), "z": 1 + 2j}
    with pytest.raises(nt.NestorError, match=message):
        nt.jit(function)(*[arguments[n] for n in used])


PARTS = (0.0, -0.0, 1.5, -2.25, 1e-200, 3e50, np.nan, np.inf)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 100, 2.0, True, 5 + 0j])
def test_whole_powers_of_complex_numbers_of_python_are_those_of_python(exponent):
    power = nt.jit(lambda z: z**exponent, target="interp")
    for z in (complex(a, b) for a in PARTS for b in PARTS):
        try:
            expected = repr(z**exponent)
        except OverflowError as error:
            with pytest.raises(OverflowError, match=str(error)):
                power(z)
        else:
            assert repr(power(z)) == expected


def test_wider_complex_numbers_are_refused():
    with pytest.raises(nt.UnsupportedError, match="arrays of dtype complex256 cannot be compiled"):
        nt.jit(_drawn)(np.ones(2, np.clongdouble), np.ones(2))


# ---- parts that are written ---------------------------------------------------------------------------


def parts_assigned(x, r):
    x.real = r
    x.imag[1:] = r[1:]
    x.imag *= 2
    x.real[0] += 5
    y = x * 1
    y.imag = 0
    y.real[::2] = r[::2]
    x.T.imag[-1:] = 3
    r.real[1:] += 1
    return y, x.sum()


def parts_in_loops(x):
    for i in range(len(x)):
        x.real[i] = i
        x[i:].imag[0] -= 1
    x.imag[1:] = x.real[:-1]
    x.real -= x.imag
    return x.sum()


@pytest.mark.parametrize("target", TARGETS)
def test_parts_are_written(target):
    x, r = numbers(6), numbers(6, seed=1).real.copy()
    agrees(parts_assigned, x, r, target=target, tolerance=1e-12)
    agrees(parts_assigned, numbers(12)[::2], r, target=target, tolerance=1e-12)
    agrees(parts_in_loops, x, target=target, tolerance=1e-12)
    agrees(parts_in_loops, numbers(6)[::-1], target=target, tolerance=1e-12)
    agrees(parts_in_loops, numbers(5, dtype="c8"), target=target, tolerance=1e-5)


def _exchanged(x):
    x.real, x.imag = x.imag, x.real
    return x


def _kept(x):
    part = x.real
    part[0] = 3
    return x


def _masked(x):
    x.real[x.imag > 0] = 3
    return x


def _complex_part(x):
    x.imag += 1j
    return x


def _of_real(x):
    x.real.imag[0] = 2
    return x


def _python_number(x):
    y = x.real + 1
    y[0] = 1j
    return y


def _python_number_under_a_mask(x):
    y = x.real + 1
    y[y > 0] = 1j
    return y


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_exchanged, "is read after 'x' was written"),
        (_kept, "writing through the real part of 'x' is not supported"),
        (_masked, "writing parts of complex numbers at indices or under a mask"),
        (_complex_part, "Cannot cast ufunc 'add' output"),
        (_of_real, "read-only"),
        (_python_number, "not 'complex'"),
        (_python_number_under_a_mask, "not 'complex'"),
    ],
)
def test_writes_that_are_refused(function, message):
    with pytest.raises(nt.NestorError, match=message):
        nt.jit(function)(numbers(4))
