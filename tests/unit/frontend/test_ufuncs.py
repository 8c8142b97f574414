"""Every ufunc of NumPy on every element type, through `nt.jit` on the CPU, against NumPy on special and random values.

Results agree to the bit, except NaN payloads, the sign of a zero minimum or maximum, and the functions of
`TRANSCENDENTAL`, which agree within 4 units in the last place.
"""

import functools
import importlib.util
import itertools

import nestor as nt
import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nt.elementwise import ELEMENTWISE
from nestor.dialects.nt.types import TO_NAME

pytestmark = pytest.mark.one_of(2)

UFUNCS = {u.__name__: u for u in vars(np).values() if isinstance(u, np.ufunc)}
LETTERS = "?bBhHiIlLefd"

REFUSED = {
    "isnat": "there are no dates",
}
"""Not compiled: refused by a diagnostic."""

ELSEWHERE = {"matmul", "matvec", "vecmat", "vecdot"}
"""Not elementwise, and tested with the products of matrices."""

TRANSCENDENTAL = {row.ufunc for row in ELEMENTWISE.values() if row.ulp > 0} | {"float_power"}
ULP = 4
EXTREMES = frozenset({"maximum", "minimum", "fmax", "fmin"})

COMPILED = {name: u for name, u in UFUNCS.items() if name not in REFUSED and name not in ELSEWHERE}


# ---- values -----------------------------------------------------------------------------------------


@functools.cache
def values(letter):
    """Special values and some random ones."""
    rng = np.random.default_rng(3)
    dtype = np.dtype(letter)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        near = [
            v for v in (0, 1, 2, 3, 5, 7, 8, 12, 63, 64, 65, 100, -1, -2, -3, -8, -100) if v >= limits.min
        ]
        random = rng.integers(limits.min, limits.max, 12, dtype=dtype, endpoint=True)
        return np.concatenate([np.array([limits.min, limits.max, limits.max - 1, *near], dtype), random])
    info = np.finfo(dtype)
    positive = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.75, 100.0, 1e-3, np.inf]
    positive += [info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny, info.max, info.eps]
    random = [*rng.normal(0, 1, 8), *rng.normal(0, 50, 8), *10.0 ** rng.uniform(-4, 4, 8)]
    return np.array([*positive, *(-np.array(positive)), np.nan, *random]).astype(dtype)


def operands(name, letters):
    """All combinations of the values of each operand, where NumPy has an answer."""
    columns = [values(letter) for letter in letters]
    if name == "ldexp":
        columns[1] = np.array(
            [0, 1, -1, 5, -30, 100, -300, 2000, -2200, 2**31 - 1, -(2**31)], columns[1].dtype
        )
    if name == "power" and columns[1].dtype.kind == "i":
        columns[1] = columns[1][columns[1] >= 0]  # NumPy raises for others
    grids = [grid.ravel() for grid in np.meshgrid(*columns, indexing="ij")]
    return grids


# ---- one compiled function a row of letters ---------------------------------------------------------


def native():
    """Ufuncs by the letters of operands that they compute on without a cast."""
    table = {}
    for name, ufunc in COMPILED.items():
        for signature in dict.fromkeys(ufunc.types):
            letters = signature.split("->")[0]
            if set(signature.replace("->", "")) <= set(LETTERS):
                table.setdefault(letters, {})[name] = ufunc
    return table


NATIVE = native()


def compiled(folder, names, letters, target="cpu"):
    """One function that calls every ufunc of `names` on arguments of its own."""
    arguments = [f"{name}_{k}" for name in names for k in range(len(letters))]
    calls = [f"np.{name}({', '.join(f'{name}_{k}' for k in range(len(letters)))})" for name in names]
    text = f"import numpy as np\n\n\ndef every({', '.join(arguments)}):\n    return (\n"
    text += "".join(f"        {call},\n" for call in calls) + "    )\n"
    path = folder / f"ufuncs_{'_'.join(map(str, map(ord, letters)))}_{names[0]}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return nt.jit(module.every, target=target)


LONG = frozenset({"gcd", "lcm", "power"})
"""Hundreds of operations on integers: a function each."""


def chunks():
    """Letters and names. Of gcd and lcm, which share their algorithm, each type has one; the other is slow."""
    for letters, ufuncs in NATIVE.items():
        integers = np.dtype(letters[0]).kind in "iu"
        alone = [name for name in ufuncs if integers and name in LONG]
        for name in alone:
            # NumPy raises for negative exponents: see test_powers_of_integers.
            if (name, np.dtype(letters[-1]).kind) != ("power", "i"):
                is_other = name == ("gcd" if LETTERS.index(letters[0]) % 4 < 2 else "lcm")
                yield pytest.param(letters, [name], marks=[pytest.mark.slow] if is_other else [])
        yield letters, [name for name in ufuncs if name not in alone]


@pytest.mark.parametrize(
    ("letters", "names"), list(chunks()), ids=lambda v: v if isinstance(v, str) else v[0]
)
def test_agrees_with_numpy(letters, names, tmp_path):
    compare(letters, names, tmp_path, "cpu")


@pytest.mark.parametrize("letters", ["e", "f", "d", "ff", "bb", "L", "??"])
def test_cuda_agrees_with_numpy(letters, tmp_path):
    """The simulator has the host's C library, so the same bounds hold; the other types differ in width only."""
    compare(letters, [name for name in NATIVE[letters] if name not in LONG], tmp_path, "cuda-sim")


def compare(letters, names, folder, target):
    columns = {name: operands(name, letters) for name in names}
    results = compiled(folder, names, letters, target)(*itertools.chain.from_iterable(columns.values()))
    assert len(results) == len(names)
    for name, result in zip(names, results, strict=True):
        with np.errstate(all="ignore"):
            expected = UFUNCS[name](*columns[name])
        pairs = zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]
        for got, wanted in pairs:
            check(name, columns[name], got, wanted)


def check(name, columns, got, wanted):
    assert got.dtype == wanted.dtype, name
    assert got.shape == wanted.shape, name
    wrong = np.flatnonzero(~agreement(name, columns, got, wanted))
    shown = [(tuple(c[k] for c in columns), got[k], wanted[k]) for k in wrong[:5]]
    assert not shown, f"np.{name} of {columns[0].dtype}: (operands), result, NumPy's: {shown}"


def agreement(name, columns, got, wanted):
    """Where they agree."""
    bits = np.dtype(f"u{wanted.dtype.itemsize}")
    same = got.view(bits) == wanted.view(bits)
    if wanted.dtype.kind != "f":
        return same
    same |= np.isnan(got) & np.isnan(wanted)
    if name in EXTREMES:
        same |= (got == 0) & (wanted == 0)
    if name not in TRANSCENDENTAL:
        return same
    with np.errstate(all="ignore"):
        scale = np.abs(wanted)
        if name.startswith("logaddexp"):  # the sum may cancel: the error is that of the larger term
            scale = np.maximum.reduce([scale, *map(np.abs, columns)])
        finite = np.isfinite(got) & np.isfinite(wanted)
        distance = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
        near = distance <= ULP * np.abs(np.spacing(scale)).astype(np.float64)
        return same | (finite & near & ((np.signbit(got) == np.signbit(wanted)) | (wanted != 0)))


def powers(x, n):
    return x**n, x**0, x**1, x**2, x**5, x**6, np.power(x, 3), n**n


@pytest.mark.parametrize("letter", "bhil")
def test_powers_of_integers(letter):
    """Exponents of an unsigned type, and constants."""
    x, jitted = values(letter), nt.jit(powers)
    for n in (0, 1, 2, 3, 31, 63, 64, 255):
        exponents = np.full(x.shape, n, np.uint8)
        for got, wanted in zip(jitted(x, exponents), powers(x, exponents), strict=True):
            check("power", [x], got, wanted)


# ---- what NumPy computes after a cast, and what it refuses -------------------------------------------


@functools.cache
def caller(name):
    """The ufunc as a compiled function."""
    ufunc = UFUNCS[name]

    def unary(x):
        return ufunc(x)

    def binary(x, y):
        return ufunc(x, y)

    return nt.jit(unary if ufunc.nin == 1 else binary)


def numpy_dtypes(name, letters):
    """The dtypes of the results, None where NumPy raises."""
    try:
        with np.errstate(all="ignore"):
            result = UFUNCS[name](*[np.ones(1, letter) for letter in letters])
    except TypeError:
        return None
    return [r.dtype.name for r in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("name", COMPILED)
def test_result_types_are_those_of_numpy(name):
    ufunc = UFUNCS[name]
    pairs = [(a,) for a in LETTERS] if ufunc.nin == 1 else [(a, b) for a in LETTERS for b in (a, "l", "e")]
    for letters in pairs:
        wanted = numpy_dtypes(name, letters)
        arguments = [nt.spec((3,), np.dtype(letter).name) for letter in letters]
        if wanted is None:
            with pytest.raises(TypeError):
                caller(name).lower(*arguments)
        else:
            module = caller(name).lower(*arguments).program.module
            outputs = module.body.block.first_op.function_type.outputs
            assert [TO_NAME[t.element_type] for t in outputs] == wanted, letters


# ---- the list is complete ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    shape = (3, 3) if name in ("matvec", "vecmat") else (3,)
    arguments = [nt.spec(shape, "float64"), nt.spec((3,), "float64")][: UFUNCS[name].nin]
    with pytest.raises(NestorError, match=f"np.{name} is not supported") as raised:
        caller(name).lower(*arguments)
    assert raised.value.diagnostic.location is not None


def test_every_compiled_ufunc_has_a_native_type():
    assert set(COMPILED) == set().union(*NATIVE.values())
