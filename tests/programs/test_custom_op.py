"""`nt.custom_op`: operations of the user, in all places where compiled code can have one."""

import importlib
import linecache
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import nestor as nt
import numpy as np
import pytest

pytestmark = pytest.mark.one_of(2)

RNG = np.random.default_rng(7)
X = RNG.random((5, 4))

SCALED = """
static double times(double value, double by) { return value * by; }
void scaled(const double *x, int64_t m, int64_t n, double by, double *y, int64_t rows, int64_t columns) {
  for (int64_t k = 0; k < m * n; k++) y[k] = times(x[k], by);
}
"""
CUBE_LLVM = """
define double @cube(double %x) {
  %square = fmul double %x, %x
  %cube = fmul double %square, %x
  ret double %cube
}
"""
SUMS_LLVM = """
define void @sums(ptr %x, i64 %n, ptr %y, ptr %z) {
entry:
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %s = phi double [0.0, %entry], [%s1, %loop]
  %at = getelementptr double, ptr %x, i64 %i
  %e = load double, ptr %at
  %s1 = fadd double %s, %e
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  %sum = phi double [0.0, %entry], [%s1, %loop]
  store double %sum, ptr %y
  store i64 %n, ptr %z
  ret void
}
"""


@nt.custom_op(shape="(m,n),()->(m,n)")
def by_python(x, by):
    return x * by


@nt.custom_op(shape="(m,n),()->(m,n)", c=SCALED)
def scaled(x, by):
    return x * by


@nt.custom_op(c="#include <math.h>\nNT_R0 soft(NT_T0 x, NT_T1 y) { return log1p(exp(x)) + y; }", entry="soft")
def soft_plus(x, y):
    return np.log1p(np.exp(x)) + y


@nt.custom_op(llvm=CUBE_LLVM, decomposition=lambda x: x * x * x)
def cube(x):
    return x**3


@nt.custom_op(shape="(n)->(),()", dtype=("f8", "i8"), llvm=SUMS_LLVM)
def sums(x):
    return x.sum(), np.int64(len(x))


@nt.custom_op(
    shape=lambda x: nt.spec((x.shape[0] - 1, 2 * x.shape[1]), x.dtype),
    decomposition=lambda x: np.hstack([x[1:], x[:-1]]),
)
def neighbours(x):
    return np.concatenate([x[1:], x[:-1]], axis=1)


def calls(x, by):
    y = scaled(x + 1, by) + by_python(x, 2.0)
    z = scaled(x.T[::2, ::-1], by)
    total, count = sums(x[:, 1])
    return y, z.sum(axis=0), soft_plus(y, x[0]), cube(x) + cube(by), neighbours(x), total * count


def in_a_loop(x, by):
    total = 0.0
    for k in range(x.shape[0]):
        x = scaled(x, by) + 1
        total += cube(x[k, 0]) + sums(x[k])[0] + soft_plus(x[k], 1.0).sum() + by_python(x, by)[k, 1]
    return x, total


def agree(got, want):
    got, want = (v if isinstance(v, tuple) else (v,) for v in (got, want))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
        assert np.asarray(a).dtype == np.asarray(b).dtype


# ---- where it is called -------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", "interp"])
@pytest.mark.parametrize("function", [calls, in_a_loop])
@pytest.mark.parametrize("x", [X, X.T, X[::-2, 1::2], X[:1]], ids=["whole", "transposed", "strided", "row"])
def test_what_runs_is_what_the_references_compute(function, x, target):
    agree(nt.jit(function, target=target)(x, 1.5), function(x, 1.5))


def test_extents_that_are_not_known():
    f = nt.jit(calls, dynamic=True)
    for shape in ((4, 3), (5, 4), (9, 6)):
        x = RNG.random(shape)
        agree(f(x, 0.5), calls(x, 0.5))
    assert f.cache_info()["compiled"] == 1


@pytest.mark.parametrize("op", [scaled, by_python])
def test_empty_arrays(op):
    assert nt.jit(lambda x: op(x, 2.0))(np.zeros((0, 3))).shape == (0, 3)
    assert nt.jit(lambda x: cube(x))(np.zeros((3, 0))).shape == (3, 0)


def test_an_operation_by_itself_traced_and_plain():
    agree(nt.jit(cube)(X), cube(X))
    agree(nt.trace(lambda x: scaled(x, 2.0) + cube(x))(X), 2 * X + cube(X))
    with nt.disable_jit():
        agree(nt.jit(calls)(X, 2.0), calls(X, 2.0))


def test_numbers_arrays_of_rank_0_and_closures():
    def with_(op):
        return nt.jit(lambda x: op(x) + 1)

    for one in (2.0, np.float64(3.0), np.array(4.0)):
        assert with_(cube)(one) == cube(one) + 1


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "c16", "?"])
def test_types_of_operands_in_one_text(dtype):
    first = nt.custom_op(
        lambda x: x[0],
        shape="(n)->()",
        entry="first",
        c="void first(const NT_T0 *x, int64_t n, NT_R0 *y) { *y = *x; }",
    )
    x = np.arange(1, 6).astype(dtype)
    got = nt.jit(lambda x: first(x))(x)
    assert got == x[0] and got.dtype == x.dtype


def test_calls_of_code_are_said_and_are_not_python():
    text = nt.jit(lambda x: scaled(x, 2.0), strict=True).explain(X)
    assert "calls of code in the program:" in text and "calls of Python" not in text
    assert "calls of Python" in nt.jit(lambda x: by_python(x, 2.0)).explain(X)


def test_a_gpu_takes_the_decomposition_and_refuses_code_without():
    agree(nt.jit(lambda x: cube(x) + 1, target="cuda-sim")(X), cube(X) + 1)
    with pytest.raises(nt.NestorError, match=r"calls code for the CPU: .*scaled[\s\S]*decomposition="):
        nt.jit(lambda x: scaled(x, 2.0), target="cuda-sim")(X)


def test_another_machine():
    agree(nt.jit(calls, machine="x86-64")(X, 2.0), calls(X, 2.0))


# ---- derivatives and stacks ---------------------------------------------------------------------------


def numeric(f, x, eps=1e-6):
    found = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[k] = eps
        found[k] = (f(x + step) - f(x - step)) / (2 * eps)
    return found


def test_a_decomposition_has_derivatives():
    def f(x):
        return (cube(x) * x + neighbours(x).sum()).sum()

    np.testing.assert_allclose(nt.grad(f)(X), numeric(f, X), rtol=1e-6)
    tangent = nt.jvp(f, (X,), (X,))[1]
    np.testing.assert_allclose(tangent, (numeric(f, X) * X).sum(), rtol=1e-6)


@pytest.mark.parametrize("op", [scaled, by_python], ids=lambda op: op.__name__)
@pytest.mark.parametrize("form", ["vjp", "jvp"])
def test_derivatives_that_are_given(op, form):
    made = nt.custom_op(op.reference, shape=op.shape, c=SCALED if op is scaled else None, entry="scaled")
    if form == "vjp":
        made.def_vjp(lambda x, by: (made(x, by), (x, by)), lambda r, c: (made(c, r[1]), (r[0] * c).sum()))
    else:

        @made.def_jvp
        def rule(primals, tangents):
            (x, by), (tx, tby) = primals, tangents
            return made(x, by), tx * by + x * tby

    def f(x, by):
        return (made(x, by) ** 2).sum()

    gx, gby = nt.grad(f, argnums=(0, 1))(X, 1.5)
    np.testing.assert_allclose(gx, 2 * X * 1.5**2)
    np.testing.assert_allclose(gby, 2 * 1.5 * (X**2).sum())


def test_a_pullback_may_call_the_operation_again():
    made = nt.custom_op(lambda x: np.exp(x))
    made.def_vjp(lambda x: (made(x), x), lambda x, c: (c * made(x),))
    _, pullback = nt.vjp(lambda x: made(x).sum(), X)
    np.testing.assert_allclose(pullback(1.0)[0], np.exp(X))


def test_without_a_derivative_it_says_so():
    with pytest.raises(nt.NestorError, match="has no derivative") as caught:
        nt.grad(lambda x: scaled(x, 2.0).sum())(X)
    assert "def_vjp" in str(caught.value) and "scaled(x, 2.0)" in str(caught.value)


@pytest.mark.parametrize("op", [cube, neighbours, lambda x: scaled(x, 2.0), lambda x: soft_plus(x, x[0])])
def test_stacks(op):
    stack = RNG.random((3, 4, 2))
    agree(nt.vmap(op)(stack), np.stack([op(one) for one in stack]))


def test_stacks_of_numbers_and_gradients_of_stacks():
    bys = np.array([1.0, 2.0, 3.0])
    agree(nt.vmap(lambda by: soft_plus(X, by))(bys), np.stack([soft_plus(X, by) for by in bys]))
    agree(nt.vmap(nt.grad(lambda x: cube(x).sum()))(np.stack([X, X])), np.stack([3 * X**2] * 2))


# ---- programs that leave --------------------------------------------------------------------------------


def test_saved_programs_have_the_code(tmp_path):
    compiled = nt.jit(lambda x: scaled(soft_plus(x, 1.0), 2.0) + cube(x)).lower(X).compile()
    compiled.save(tmp_path / "f.nestor")
    agree(nt.load(tmp_path / "f.nestor")(X), 2 * soft_plus(X, 1.0) + cube(X))
    agree(pickle.loads(pickle.dumps(compiled))(X), 2 * soft_plus(X, 1.0) + cube(X))


def test_saved_programs_do_not_have_python(tmp_path):
    compiled = nt.jit(lambda x: by_python(x, 2.0)).lower(X).compile()
    with pytest.raises(nt.UnsupportedError, match="calls Python"):
        compiled.save(tmp_path / "f.nestor")


@pytest.mark.parametrize("threads", ["none", "openmp"])
def test_libraries_have_the_code(tmp_path, threads):
    def f(x):
        return scaled(soft_plus(x, 1.0), 2.0) + cube(x)

    nt.jit(f).lower(nt.spec((2, 2))).compile().export_c(tmp_path, threads=threads)
    (tmp_path / "main.c").write_text(
        '#include "f.h"\n#include <stdio.h>\nint main(void) { double x[4] = {1, 2, 3, 4}, y[4]; nestor_error error;\n'
        'if (f(x, y, &error)) return 1; printf("%.12f %.12f\\n", y[0], y[3]); return 0; }\n'
    )
    links = ["-lm"] if threads == "none" else ["-lgomp", "-lm"]
    subprocess.run(["cc", "main.c", "libf.a", *links, "-o", "main"], cwd=tmp_path, check=True)
    said = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    x = np.array([1.0, 4.0])
    np.testing.assert_allclose(list(map(float, said.split())), f(x[:, None])[:, 0], atol=1e-11)


def test_pickled_by_name_and_made_again():
    assert pickle.loads(pickle.dumps(scaled)) is scaled
    plain = nt.custom_op(plain_reference, c="double plain(double x) { return 3 * x; }", entry="plain")
    plain.def_vjp(plain_forward, plain_backward)
    again = pickle.loads(pickle.dumps(plain))
    agree(nt.jit(lambda x: again(x))(X), 3 * X)
    agree(nt.grad(lambda x: again(x).sum())(X), np.full_like(X, 3.0))


def plain_reference(x):
    return 3 * x


def plain_forward(x):
    return 3 * x, None


def plain_backward(residuals, c):
    return (3 * c,)


BODY = """
import numpy as np, nestor as nt
def ref(x): return x * 2.0
op = nt.custom_op(ref, {how})
@nt.jit
def f(x): return op(x) + 1
result = f(np.arange(3.0)).tolist(), nt.cache.stats()["hits"], nt.cache.stats()["stored"]
"""
HOW = {
    "c": 'c="double ref(double x) {{ return x * {}; }}"',
    "llvm": 'llvm="define double @ref(double %x) {{\\n  %y = fmul double %x, {}\\n  ret double %y\\n}}"',
    "decomposition": "decomposition=lambda x: x * {}",
}


@pytest.mark.parametrize("how", HOW)
def test_programs_on_the_disk_are_never_those_of_another_text(how, tmp_path, monkeypatch):
    monkeypatch.setenv("NESTOR_CACHE", "1")
    monkeypatch.setenv("NESTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    counts = []
    for number, by in enumerate(("2.0", "2.0", "4.0", "2.0")):
        found, hits, stored = run_module(tmp_path, BODY.format(how=HOW[how].format(by)), number)
        assert found == [1.0, 1.0 + float(by), 1.0 + 2 * float(by)]
        counts.append((hits, stored))
    hits = [after[0] - before[0] for before, after in zip([(counts[0][0], 0), *counts], counts, strict=False)]
    assert hits[1:] == [1, 0, 1]


def run_module(folder: Path, body: str, number: int):
    path = folder / "changing.py"
    path.write_text(body)
    os.utime(path, ns=(2 * 10**18 + number, 2 * 10**18 + number))
    for stale in folder.glob("__pycache__/*"):
        stale.unlink()
    linecache.checkcache()
    importlib.invalidate_caches()
    sys.modules.pop("changing", None)
    return importlib.import_module("changing").result


# ---- what goes wrong ------------------------------------------------------------------------------------


def refused(op, *args, error=nt.NestorError):
    with pytest.raises(error) as caught:
        nt.jit(lambda *args: op(*args))(*args)
    return str(caught.value)


def test_operands_that_do_not_fit_the_rule():
    product = nt.custom_op(lambda a, b: a @ b, shape="(m,k),(k,n)->(m,n)")
    for call in (product, nt.jit(lambda a, b: product(a, b))):
        with pytest.raises(ValueError, match=r"axis 0 of operand 1 of .* has 5 elements, and 'k'"):
            call(X, X)
        with pytest.raises(ValueError, match=r"operand 1 of .* has 1 axes"):
            call(X, X[0])
    f = nt.jit(lambda a, b: product(a, b), dynamic=True)
    agree(f(X, X.T), X @ X.T)
    with pytest.raises(ValueError):
        f(X, X)


@pytest.mark.parametrize("text", ["(m", "(m)->(n)", "m->m", "(m)", "(m)->"])
def test_rules_that_are_none(text):
    with pytest.raises(ValueError, match=r"shape rule|result with the extent"):
        nt.custom_op(lambda x: x, shape=text)


def test_results_that_do_not_fit_the_rule():
    for wrong in (lambda x: x[:-1], lambda x: x.astype("f4")):
        op = nt.custom_op(wrong)
        with pytest.raises(ValueError, match=r"returned float.*shape rule says"):
            op(X)
        assert re.search("returned float.*is declared", refused(op, X, error=ValueError))
        assert "and its rule says" in refused(nt.custom_op(lambda x: x, decomposition=wrong), X)


def test_a_reference_that_writes_in_place():
    def writes(x):
        x += 1
        return x

    op = nt.custom_op(writes)
    for call in (op, nt.jit(lambda x: op(x))):
        with pytest.raises(ValueError, match="read-only"):
            call(X.copy())


def in_place(x):
    x += 1
    return x


def one_element(x):
    x[0] = 3
    return x * 2


def through_a_view(x):
    y = x[1:]
    y *= 2
    return x + 0


def in_a_loop_over_elements(x):
    for i in range(len(x)):
        x[i] = x[i] + 1
    return x * 2


@pytest.mark.parametrize("decomposition", [in_place, one_element, through_a_view])
@pytest.mark.parametrize("code", [None, "double twice(double x) { return 2 * x; }"])
def test_a_decomposition_that_writes_in_place(decomposition, code):
    op = nt.custom_op(lambda x: x * 2, decomposition=decomposition, c=code, entry="twice")

    def by_rows(x):
        total = 0.0
        for i in range(len(x)):
            for j in range(x.shape[1]):
                total += op(x[i])[j]
        return total

    for function, x in ((op, X[0]), (lambda x: op(x[::-1]), X[0])):
        with pytest.raises(ValueError, match="read-only"):
            nt.jit(lambda x, function=function: function(x))(x.copy())
    with pytest.warns(RuntimeWarning, match="read-only"):  # such loops run in Python, by the reference
        agree(nt.jit(by_rows)(X.copy()), by_rows(X.copy()))


def test_a_decomposition_that_writes_in_a_loop_over_elements():
    op = nt.custom_op(lambda x: x * 2, decomposition=in_a_loop_over_elements)
    with pytest.warns(RuntimeWarning, match="read-only"):
        agree(nt.jit(lambda x: op(x))(X[0].copy()), 2 * X[0])


@pytest.mark.parametrize("decomposition", [lambda x: x, lambda x: x[:], lambda x: x[::-1][::-1]])
def test_results_share_no_memory_with_operands(decomposition):
    op = nt.custom_op(lambda x: x.copy(), decomposition=decomposition)

    def f(x):
        y = op(x)
        y[0] = 100
        x[1] = -1
        return x, y, op(x)

    def in_rows(x):
        total = 0.0
        for i in range(len(x)):
            for j in range(1, x.shape[1]):
                row = op(x[i])
                row[j] = 7
                total += x[i, j] + row[j - 1]
        return x, total

    agree(nt.jit(f)(X[0].copy()), f(X[0].copy()))
    agree(nt.jit(in_rows)(X.copy()), in_rows(X.copy()))


def c_op(text, **options):
    return nt.custom_op(lambda x: x * 2.0, shape="(n)->(n)", c=text, entry="f", **options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("void g(void) {}", "f.*implicit|implicit.*f"),
        ("void f(const double *x, int64_t n, double *y, int64_t m) { y[0] = x; }", "f.c:1"),
        ("void f(double *x, int64_t n, double *y, int64_t m) { x[0] = 1; }", "discard"),
        ("void f(const float *x, int64_t n, double *y, int64_t m) { }", "incompatible"),
        ("void f(const double *x, int64_t n, double *y) { }", "too many"),
        ("void f(const double *x, int n, double *y, int64_t m) { }", "int"),
        ("void f() { }", "prototype"),
        ("double f(const double *x, int64_t n, double *y, int64_t m) { return *x; }", "f returns void"),
        ('#include "own.h"\nvoid f(const double *x, int64_t n, double *y, int64_t m) { }', "own.h"),
        (
            "void missing(void); void f(const double *x, int64_t n, double *y, int64_t m) { missing(); }",
            "missing",
        ),
    ],
)
def test_c_text_that_is_wrong(text, said):
    message = refused(c_op(text), X[0])
    assert re.search(said, message) and "test_custom_op.py" in message


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    message = refused(c_op("void f(const double *x, int64_t n, double *y, int64_t m) { y[0] = n; }"), X[0])
    assert "there is no 'no-such-compiler'" in message and "install" in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("define void @g() {\n  ret void\n}", "no function 'f'.*defines: g"),
        (
            "define void @f(ptr %x) {\n  ret void\n}",
            r"has the type void \(ptr\).*want void \(ptr, i64, ptr, i64\)",
        ),
        ("define void @f(", "LLVM does not take it"),
    ],
)
def test_llvm_text_that_is_wrong(text, said):
    message = refused(nt.custom_op(lambda x: x, shape="(n)->(n)", llvm=text, entry="f"), X[0])
    assert re.search(said, message.replace("\n", " ")) and "test_custom_op.py" in message


def test_arrays_of_other_libraries():
    class Foreign:
        def __array_function__(self, func, types, args, kwargs):
            return NotImplemented

    with pytest.raises(TypeError, match="is a Foreign, not an array or a number"):
        cube(Foreign())


def test_an_operation_that_is_made_in_compiled_code():
    assert "define the operation outside" in refused(lambda x: nt.custom_op(plain_reference)(x), X)


def test_an_error_of_the_compiler_says_what_the_function_looks_like():
    message = refused(
        nt.custom_op(lambda x, by: x * by, shape="(n),()->(n)", c="void f(void) {}", entry="f"), X[0], 2
    )
    assert "want: void f(const double *, int64_t, int64_t, double *, int64_t)" in message


def test_types_that_code_does_not_have():
    assert "LLVM IR has no type for" in refused(cube, X + 1j)
    conjugate = nt.custom_op(
        lambda x, by: np.conj(x) * by,
        shape="(n),()->(n)",
        entry="conjugate",
        llvm="define void @conjugate(ptr %x, i64 %n, double %by, ptr %y, i64 %m) {\n  ret void\n}",
    )
    assert "LLVM IR has no type for" in refused(conjugate, X[0] + 1j, 1j)
    halves = nt.custom_op(lambda x: x**3, llvm=CUBE_LLVM, entry="cube")
    assert "convert to float32" in refused(halves, X.astype("f2"))


def test_complex_arrays_are_pairs_in_llvm_ir():
    first = nt.custom_op(
        lambda x: x[0].real,
        shape="(n)->()",
        dtype="f8",
        entry="first",
        llvm="define void @first(ptr %x, i64 %n, ptr %y) {\n  %a = load double, ptr %x\n"
        "  store double %a, ptr %y\n  ret void\n}",
    )
    assert nt.jit(lambda x: first(x))(X[0] + 1j) == X[0, 0]


def test_definitions_that_are_none():
    for wrong, error in (
        ({"c": "", "llvm": ""}, nt.UnsupportedError),
        ({"c": 3}, TypeError),
        ({"shape": 3}, TypeError),
        ({"shape": lambda x: x, "dtype": "f4"}, TypeError),
        ({"c": "", "entry": "a b"}, TypeError),
        ({"c": ""}, TypeError),  # <lambda> is no name
    ):
        with pytest.raises(error):
            nt.custom_op(lambda x: x, **wrong)
    with pytest.raises(TypeError):
        nt.custom_op(cube)
    with pytest.raises(TypeError, match="str, not an array or a number"):
        cube("a")
    assert "argument 0 of cube" in refused(lambda x: cube("a"), X)


@pytest.mark.parametrize("name", ["i", "slots", "result", "x0", "y"])
def test_names_that_generated_code_may_have(name):
    for c in (
        f"double {name}(double x) {{ return 2 * x; }}",
        f"static double helper(double x) {{ return 2 * x; }}\n#define {name} helper",
    ):
        op = nt.custom_op(lambda x: 2 * x, c=c, entry=name)
        agree(nt.jit(lambda x, op=op: op(x))(X), 2 * X)
    llvm = f"define double @{name}(double %x) {{\n  %y = fadd double %x, %x\n  ret double %y\n}}"
    op = nt.custom_op(lambda x: 2 * x, llvm=llvm, entry=name)
    agree(nt.jit(lambda x: op(x))(X), 2 * X)


def test_two_texts_with_the_same_names_in_one_program():
    one = c_op(
        "static double k(void) { return 2; }\nvoid f(const double *x, int64_t n, double *y, int64_t m) "
        "{ for (int64_t i = 0; i < n; i++) y[i] = x[i] * k(); }"
    )
    other = c_op(
        "double k(void) { return 3; }\nvoid f(const double *x, int64_t n, double *y, int64_t m) "
        "{ for (int64_t i = 0; i < n; i++) y[i] = x[i] * k(); }"
    )
    agree(nt.jit(lambda x: one(x) + 10 * other(x))(X[0]), 32 * X[0])
