"""Every arith and math operation: the C that is printed for it, run in the simulator, agrees with the
interpreter's definition bit for bit (transcendental functions: within 4 ULP)."""

import math

import numpy as np
import pytest
from cuda_kernels import parse
from nestor.dialects.functions import FUNCTIONS, OPERATIONS
from nestor.lowering.cuda_c.emit import print_cuda
from nestor.lowering.cuda_c.operations import EXPRESSIONS
from nestor.lowering.math.expand_math import expand_in_kernels
from nestor.runtime import scalar_eval
from nestor.runtime.cuda_sim.module import SimModule
from sampling import is_sampled

INTEGERS = ("i8", "i16", "i32", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")
COUNT = 64


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_INTEGER_BINARY = _words("""
addi subi muli andi ori xori minsi maxsi minui maxui divsi remsi divui remui floordivsi ceildivsi ceildivui
shli shrsi shrui
""")
_INTEGER_PREDICATES = _words("eq ne slt sle sgt sge ult ule ugt uge")
_FLOAT_PREDICATES = _words("oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno")
_EXACT_FLOAT = ("absf", "sqrt", "floor", "ceil", "trunc", "roundeven")
_INEXACT = _words("""
exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh cbrt
""")


def cases():
    """(custom syntax with {0}.. for operands, operand types, result type) of every operation tested."""
    for t in INTEGERS:
        for op in _INTEGER_BINARY:
            yield f"arith.{op} {{0}}, {{1}} : {t}", (t, t), t
        for predicate in _INTEGER_PREDICATES:
            yield f"arith.cmpi {predicate}, {{0}}, {{1}} : {t}", (t, t), "i1"
        for wide in INTEGERS[INTEGERS.index(t) + 1 :]:
            yield f"arith.extsi {{0}} : {t} to {wide}", (t,), wide
            yield f"arith.extui {{0}} : {t} to {wide}", (t,), wide
            yield f"arith.trunci {{0}} : {wide} to {t}", (wide,), t
        yield f"arith.trunci {{0}} : {t} to i1", (t,), "i1"
        yield f"arith.extui {{0}} : i1 to {t}", ("i1",), t
        yield f"arith.extsi {{0}} : i1 to {t}", ("i1",), t
        yield f"math.absi {{0}} : {t}", (t,), t
        yield f"arith.select {{0}}, {{1}}, {{2}} : {t}", ("i1", t, t), t
        for f in ("f32", "f64"):
            yield f"arith.sitofp {{0}} : {t} to {f}", (t,), f
            yield f"arith.uitofp {{0}} : {t} to {f}", (t,), f
            yield f"arith.fptosi {{0}} : {f} to {t}", (f,), t
    for op in ("andi", "ori", "xori", "addi", "muli", "minsi", "maxsi", "minui", "maxui"):
        yield f"arith.{op} {{0}}, {{1}} : i1", ("i1", "i1"), "i1"
    for predicate in _INTEGER_PREDICATES:
        yield f"arith.cmpi {predicate}, {{0}}, {{1}} : i1", ("i1", "i1"), "i1"
    for t in FLOATS:
        for op in ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf"):
            yield f"arith.{op} {{0}}, {{1}} : {t}", (t, t), t
        yield f"arith.negf {{0}} : {t}", (t,), t
        for predicate in _FLOAT_PREDICATES:
            yield f"arith.cmpf {predicate}, {{0}}, {{1}} : {t}", (t, t), "i1"
        for op in _EXACT_FLOAT:
            yield f"math.{op} {{0}} : {t}", (t,), t
        yield f"math.copysign {{0}}, {{1}} : {t}", (t, t), t
    for narrow, wide in (("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64")):
        yield f"arith.extf {{0}} : {narrow} to {wide}", (narrow,), wide
        yield f"arith.truncf {{0}} : {wide} to {narrow}", (wide,), narrow
    for t in ("f32", "f64"):
        for op in _INEXACT:
            yield f"math.{op} {{0}} : {t}", (t,), t
        yield f"math.powf {{0}}, {{1}} : {t}", (t, t), t
        yield f"math.atan2 {{0}}, {{1}} : {t}", (t, t), t
    for a, b in (("f32", "i32"), ("f64", "i64")):
        yield f"arith.bitcast {{0}} : {a} to {b}", (a,), b
        yield f"arith.bitcast {{0}} : {b} to {a}", (b,), a


CASES = list(cases())


def _memory(type_: str) -> str:
    return "i8" if type_ == "i1" else type_


def _kernel(k: int) -> str:
    text, operands, result = CASES[k]
    parameters = [f"%x{j}: memref<{COUNT}x{_memory(t)}>" for j, t in enumerate(operands)]
    lines = ["%i = gpu.thread_id x"]
    for j, t in enumerate(operands):
        lines.append(f"%l{j} = memref.load %x{j}[%i] : memref<{COUNT}x{_memory(t)}>")
        lines.append(f"%a{j} = arith.trunci %l{j} : i8 to i1" if t == "i1" else "")
    values = [f"%a{j}" if t == "i1" else f"%l{j}" for j, t in enumerate(operands)]
    lines.append("%r = " + text.format(*values))
    stored = "%r"
    if result == "i1":
        lines.append("%b = arith.extui %r : i1 to i8")
        stored = "%b"
    lines.append(f"memref.store {stored}, %out[%i] : memref<{COUNT}x{_memory(result)}>")
    body = "\n".join(lines)
    arguments = ", ".join([*parameters, f"%out: memref<{COUNT}x{_memory(result)}>"])
    return f"gpu.func @case{k}({arguments}) kernel {{\n{body}\ngpu.return\n}}"


@pytest.fixture(scope="module")
def compiled():
    kernels = "\n".join(_kernel(k) for k in range(len(CASES)))
    module = parse(f"gpu.module @cases attributes {{nestor.index_bits = 32 : i64}} {{\n{kernels}\n}}")
    tested = {op.parent_op().sym_name.data: op for op in module.walk() if _is_tested(op)}
    # g++ optimises them (ten seconds) among slow tests only: what is printed means the same without that.
    level = '#pragma GCC optimize("O0")\n' if is_sampled() else ""
    return tested, SimModule(level + print_cuda(module).source)


def _is_tested(op) -> bool:
    return len(op.results) == 1 and op.results[0].name_hint == "r"


_EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    -2.5,
    np.inf,
    -np.inf,
    np.nan,
    1e-7,
    3.3e4,
    65504.0,
    -70000.0,
    1e-40,
]


def _operand(type_: str, k: int, rng: np.random.Generator) -> np.ndarray:
    """Operands as they lie in memory: edges in every combination first, then random values."""
    if type_ == "i1":
        return rng.integers(0, 2, COUNT).astype(np.int8)
    if type_ in INTEGERS:
        dtype = np.dtype(f"int{type_[1:]}")
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        values = rng.integers(low, high, COUNT, dtype=dtype, endpoint=True)
        values[:12] = np.roll([0, 1, -1, 2, -7, 7, low, high, low + 1, 100, -100, 31], 5 * k)
        return values
    values = rng.normal(size=COUNT) * 10.0 ** rng.integers(-3, 4, COUNT)
    values[: len(_EDGES)] = np.roll(_EDGES, 4 * k)
    with np.errstate(all="ignore"):
        if type_ == "bf16":
            return np.array([scalar_eval.bf16_to_bits(v) for v in values.astype(np.float32)])
        return values.astype(f"float{type_[1:]}")


def _defined(text: str, arrays: list[np.ndarray]) -> None:
    """Keep operands where C (and MLIR) define the operation."""
    if "div" in text.split()[0] or "rem" in text.split()[0]:
        if arrays[1].dtype.kind == "i":
            arrays[1][arrays[1] == 0] = 3
            arrays[1][arrays[1] == -1] = 5
    elif "powf" in text:  # NumPy's ** takes x ** 0.5 for a square root: another value for -inf
        np.abs(arrays[0], out=arrays[0])
    elif ".sh" in text:
        arrays[1] %= arrays[1].dtype.itemsize * 8
    elif "fptosi" in text:
        limit = 2.0 ** (int(text.split()[-1][1:]) - 2)
        arrays[0][:] = np.clip(np.nan_to_num(arrays[0]), -limit, limit)


def _scalar(type_: str, cell):
    if type_ == "i1":
        return np.bool_(cell)
    return scalar_eval.bf16_from_bits(cell) if type_ == "bf16" else cell


@pytest.mark.parametrize("k", range(len(CASES)), ids=[text for text, *_ in CASES])
def test_operation(compiled, k):
    tested, sim = compiled
    text, operands, result = CASES[k]
    rng = np.random.default_rng(k)
    arrays = [_operand(t, j, rng) for j, t in enumerate(operands)]
    _defined(text, arrays)
    memory = {"i1": np.int8, "bf16": np.int16}.get(result) or np.dtype(
        f"{'int' if result[0] == 'i' else 'float'}{result[1:]}"
    )
    out = np.zeros(COUNT, memory)
    sim.launch(f"case{k}", (1,), (COUNT,), [*arrays, out])
    name = text.split()[0]
    op = tested[f"case{k}"]
    reference = scalar_eval.function(op)
    with np.errstate(all="ignore"):
        expected = [reference(*(_scalar(t, a[i]) for t, a in zip(operands, arrays, strict=True)))
                    for i in range(COUNT)]  # fmt: skip
    expected = [scalar_eval.scalar(value, op.results[0].type) for value in expected]
    got = [_scalar(result, cell) for cell in out]
    if name.removeprefix("math.") in (*_INEXACT, "powf", "atan2"):
        eps = np.finfo(memory).eps
        np.testing.assert_allclose(got, expected, rtol=4 * eps, atol=0)
        return
    np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))


def test_operations_the_interpreter_lacks():
    module = parse("""gpu.module @k attributes {nestor.index_bits = 64 : i64} {
      gpu.func @k(%x: memref<?xf64>, %p: memref<?xi32>, %y: memref<?x7xf64>, %q: memref<?x6xi32>) kernel {
        %i = gpu.thread_id x
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c3 = arith.constant 3 : index
        %c4 = arith.constant 4 : index
        %c5 = arith.constant 5 : index
        %c6 = arith.constant 6 : index
        %a = memref.load %x[%i] : memref<?xf64>
        %b = memref.load %p[%i] : memref<?xi32>
        %0 = arith.maxnumf %a, %a : f64
        memref.store %0, %y[%i, %c0] : memref<?x7xf64>
        %1 = math.fma %a, %a, %a : f64
        memref.store %1, %y[%i, %c1] : memref<?x7xf64>
        %2 = math.rsqrt %a : f64
        memref.store %2, %y[%i, %c2] : memref<?x7xf64>
        %3 = math.fpowi %a, %b : f64, i32
        memref.store %3, %y[%i, %c3] : memref<?x7xf64>
        %4 = math.round %a : f64
        memref.store %4, %y[%i, %c4] : memref<?x7xf64>
        %5 = math.erf %a : f64
        memref.store %5, %y[%i, %c5] : memref<?x7xf64>
        %6 = arith.minnumf %a, %1 : f64
        memref.store %6, %y[%i, %c6] : memref<?x7xf64>
        %7 = math.ctpop %b : i32
        memref.store %7, %q[%i, %c0] : memref<?x6xi32>
        %8 = math.ctlz %b : i32
        memref.store %8, %q[%i, %c1] : memref<?x6xi32>
        %9 = math.cttz %b : i32
        memref.store %9, %q[%i, %c2] : memref<?x6xi32>
        %10 = math.ipowi %b, %b : i32
        memref.store %10, %q[%i, %c3] : memref<?x6xi32>
        %11, %12 = arith.mului_extended %b, %b : i32
        memref.store %11, %q[%i, %c4] : memref<?x6xi32>
        memref.store %12, %q[%i, %c5] : memref<?x6xi32>
        gpu.return
      }
    }""")
    x = np.array([0.25, 2.5, 3.0, 1.0])
    p = np.array([-2, 0, 3, 70000], np.int32)
    y, q = np.zeros((4, 7)), np.zeros((4, 6), np.int32)
    SimModule(print_cuda(module).source).launch("k", (1,), (4,), [x, p, y, q])
    erf = [math.erf(v) for v in x]
    expected = np.stack([x, x * x + x, 1 / np.sqrt(x), x**p, np.floor(x + 0.5), erf, x], axis=1)
    np.testing.assert_allclose(y, expected, rtol=1e-13)
    unsigned = [int(v) % 2**32 for v in p]
    for row, v, u in zip(q.tolist(), p.tolist(), unsigned, strict=True):
        assert row[0] == u.bit_count()
        assert row[1] == 32 - u.bit_length()
        assert row[2] == (32 if u == 0 else (u & -u).bit_length() - 1)
        power = pow(v, v, 2**32) if v >= 0 else 0
        assert row[3] % 2**32 == power
        assert (row[4] % 2**32, row[5] % 2**32) == (u * u % 2**32, u * u >> 32)


def test_the_table_is_covered():
    tested = {text.split()[0] for text, *_ in CASES}
    elsewhere = {"arith.constant", "arith.index_cast", "arith.fptoui", "memref.load", "memref.dim"}
    elsewhere |= {"arith.maxnumf", "arith.minnumf", "math.fma", "math.rsqrt", "math.fpowi", "math.ipowi"}
    elsewhere |= {"math.ctpop", "math.ctlz", "math.cttz", "math.round", "math.erf"}
    elsewhere |= {"math.erfc", *(op.name for op in OPERATIONS.values())}  # tests/programs/test_nn.py
    elsewhere.add("special.philox")  # tests/programs/test_random.py, and the table of programs
    elsewhere |= {"vector.extract"}  # tests/unit/transforms/schedulers/test_gpu_vectors.py
    missing = {op.name for op in EXPRESSIONS} - tested - elsewhere
    assert {name for name in missing if not name.startswith("gpu.")} == set()


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_functions_that_cuda_lacks_are_written_out(name, element, monkeypatch):
    """The forms of the CPU, in a kernel, branches included: of a function that CUDA C is not known to have."""
    monkeypatch.delitem(EXPRESSIONS, OPERATIONS[name])
    arity = next(row.arity for row in FUNCTIONS if row.name == name)
    module = parse(f"""gpu.module @k attributes {{nestor.index_bits = 64 : i64}} {{
      gpu.func @k(%x: memref<?x{element}>, %y: memref<?x{element}>) kernel {{
        %i = gpu.thread_id x
        %a = memref.load %x[%i] : memref<?x{element}>
        %r = special.{name} {", ".join(["%a"] * arity)} : {element}
        memref.store %r, %y[%i] : memref<?x{element}>
        gpu.return
      }}
    }}""")
    expand_in_kernels(module)
    assert f"special.{name}" not in str(module)
    x = np.array([0.25, -2.5, 3.0, 100.0, -40.0, 0.0, np.inf, np.nan], element.replace("f", "float"))
    y = np.zeros_like(x)
    SimModule(print_cuda(module).source).launch("k", (1,), (len(x),), [x, y])
    (reference,) = (row.reference for row in FUNCTIONS if row.name == name)
    np.testing.assert_allclose(y, reference(*[x] * arity), rtol=1e-6 if element == "f32" else 1e-14)
