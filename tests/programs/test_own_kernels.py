"""`nt.custom_op` with `cuda=`: kernels of the user in GPU programs, run by the simulator and compared with references."""

import pickle

import nestor as nt
import numpy as np
import pytest
from nestor.lowering.abi.kernel_signature import KernelParameter, KernelSignature
from nestor.runtime.cuda import nvrtc
from nestor.runtime.cuda.launch_arguments import packer_of

pytestmark = pytest.mark.one_of(4)

RNG = np.random.default_rng(11)
X = RNG.random((5, 7))

SCALED = """
#define ONE 1.0
__device__ double times(double value, double by) { return value * by * ONE; }
extern "C" __global__ void __launch_bounds__(256) scaled(
    const double *x, int m, int n, double by, NT_R0 *__restrict__ y, int64_t rows, int64_t columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;  // "scaled(" stays as it is
  if (i < m * n) y[i] = times(x[i], by);
}
"""
ROW_SUMS = """
__global__ void row_sums(const NT_T0 *x, int m, int n, NT_R0 *sums, int rows, NT_R1 *most, int again) {
  __shared__ NT_R0 part[64];
  NT_R0 sum = 0, largest = x[(long long)blockIdx.x * n];
  for (int j = threadIdx.x; j < n; j += 64) {
    sum += x[(long long)blockIdx.x * n + j];
    largest = max(largest, x[(long long)blockIdx.x * n + j]);
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
  for (int half = 16; half > 0; half /= 2) largest = max(largest, __shfl_xor_sync(0xffffffff, largest, half));
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x == 0) most[blockIdx.x] = max(part[0], part[1]);
}
"""
TRANSPOSED = """
__global__ void transposed(const NT_T0 *x, int m, int n, NT_R0 *y, int p, int q) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < m && j < n) y[(int64_t)j * m + i] = x[(int64_t)i * n + j];
}
"""


@nt.custom_op(shape="(m,n),()->(m,n)", cuda=SCALED)
def scaled(x, by):
    return x * by


@nt.custom_op(entry="soft", cuda="__device__ NT_R0 soft(NT_T0 x, NT_T1 y) { return log1p(exp(x)) + y; }")
def soft_plus(x, y):
    return np.log1p(np.exp(x)) + y


@nt.custom_op(shape="(m,n)->(m),(m)", cuda=ROW_SUMS, grid="m", block=64)
def row_sums(x):
    return x.sum(axis=1), x.max(axis=1)


@nt.custom_op(
    shape="(m,n)->(n,m)",
    cuda=TRANSPOSED,
    grid=lambda x: (-(-x.shape[0] // 4), (x.shape[1] + 7) // 8),
    block=(4, 8),
)
def transposed(x):
    return x.T.copy()


@nt.custom_op(
    cuda="__device__ double cube(double x) { return x * x * x; }",
    c="double cube(double x) { return x * x * x; }",
    decomposition=lambda x: x * x * x,
)
def cube(x):
    return x**3


@nt.custom_op(cuda="__device__ double square(double x) { return x * x; }", decomposition=lambda x: x * x)
def square(x):
    return x**2


def straight(x, s):
    y = scaled(x + 1, s) * 2
    return y - transposed(transposed(y).T[:, ::-1].T)[::-1].T.T + soft_plus(y * 0.01, x) + soft_plus(x[0], s)


def in_loops(x, s):
    y = x
    for k in range(3):
        y = scaled(y, k + 0.5) + 1
        if y[0, 0] > s:
            y = scaled(y, y[0, 0])
    while y.max() > 1:
        y = scaled(y, 0.5)
    return y


def between_reductions(x, s):
    sums, most = row_sums(x * s)
    rows = np.exp(x - most[:, None] / s) / sums[:, None]
    again, _ = row_sums(rows @ rows.T)
    return again.sum() + sums, rows.argmax(axis=1) + most


def in_place(x, s):
    y = np.zeros((9, 7))
    y[2:7] = scaled(x, s)
    y[0] = row_sums(y.T)[0]
    x[1:] = scaled(x[1:], 2.0)
    return y, cube(y[2:7]) + square(x)


def unused_and_equal(x, s):
    scaled(x, s)
    return scaled(x, s) - scaled(x, s) + cube(x) - cube(x)


FUNCTIONS = [straight, in_loops, between_reductions, in_place, unused_and_equal]
ARRAYS = [X, X.T[:5, ::-1][:, :3], RNG.random((40, 90))]


def agree(got, want):
    several = isinstance(want, tuple)
    for one, other in zip(got if several else (got,), want if several else (want,), strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


TARGETS = [
    "cuda-sim:checked",
    pytest.param("cuda-sim:checked,reverse", marks=pytest.mark.slow),
    "cpu",
    "interp",
]


@pytest.mark.one_of(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_runs_is_what_the_references_compute(function, target):
    jitted = nt.jit(function, target=target)
    for x in ARRAYS if target != "cuda-sim:checked,reverse" else ARRAYS[:1]:
        if x.shape != (5, 7) and function is in_place:
            continue
        mine, wanted = x.copy(), x.copy()
        with nt.disable_jit():
            want = function(wanted, 3.0)
        agree(jitted(mine, 3.0), want)
        agree(mine, wanted)


def test_extents_that_are_not_known_and_empty_arrays():
    jitted = nt.jit(straight, target="cuda-sim", dynamic=True)
    for shape in ((3, 3), (5, 7), (8, 2), (1, 300)):
        x = RNG.random(shape)
        with nt.disable_jit():
            want = straight(x, 2.0)
        agree(jitted(x, 2.0), want)
    one = nt.jit(lambda x: scaled(x, 2.0) + soft_plus(x, 1.0), target="cuda-sim:checked")
    for shape in ((0, 3), (3, 0)):
        assert one(np.zeros(shape)).shape == shape


@pytest.mark.one_of(3)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1", "i2", "c8", "c16", "?"])
def test_types_of_operands_in_one_text(dtype):
    text = "__global__ void first(const NT_T0 *x, int m, int n, NT_R0 *y, int p, int q) {"
    text += "if (!threadIdx.x) y[0] = x[m * n - 1]; }"

    @nt.custom_op(shape="(m,n)->(1,1)", cuda=text, entry="first")
    def last(x):
        return x[-1:, -1:].copy()

    x = (RNG.random((3, 4)) * 100 + (1j if dtype[0] == "c" else 0)).astype(dtype)
    got = nt.jit(lambda x: last(x), target="cuda-sim:checked")(x)
    assert got.dtype == x.dtype and got == x[-1, -1]


STEPS = (
    *("scaled(y, 0.5)", "y + scaled(x, y[0, 1])", "soft_plus(y, 1.0)", "soft_plus(y, x[0])", "cube(y * 0.5)"),
    *("square(y)", "row_sums(y)[0][:, None] + x", "y - row_sums(y + 1)[1][:, None]", "np.tanh(y) + x"),
    *("transposed(y).T", "transposed(y.T)", "y / (1 + np.abs(y).sum(axis=0))", "y[::-1] * 2", "y * y[:, :1]"),
)
AROUND = ("", "for k{} in range(2): ", "if y[0, 0] > 0.5: ", "for k{} in range(int(x[0, 0] * 3)): ")


@pytest.mark.parametrize("seed", [0, 1, *[pytest.param(k, marks=pytest.mark.slow) for k in range(2, 12)]])
def test_random_programs(seed):
    """Programs of four to eight steps, drawn by the seed: kernels of the user among NumPy, in loops and branches."""
    generator = np.random.default_rng(seed)
    lines = ["def program(x):", "    y = x"]
    for k in range(int(generator.integers(4, 9))):
        around = AROUND[generator.integers(len(AROUND))].format(k)
        lines.append(f"    {around}y = {STEPS[generator.integers(len(STEPS))]}")
    text = "\n".join([*lines, "    return y, y.sum(axis=0)"])
    program = made(text, f"own_kernels_{seed}")
    with nt.disable_jit():
        want = program(X)
    for target in ("cuda-sim:checked", "cuda-sim", "cpu"):  # temporaries share memory in the second one
        agree(nt.jit(program, target=target)(X), want)


def made(text, name):
    """A function of a text whose lines can be found."""
    import linecache

    file = f"/{name}.py"
    linecache.cache[file] = (len(text), None, [f"{line}\n" for line in text.splitlines()], file)
    scope = dict(globals())
    exec(compile(text, file, "exec"), scope)
    return scope["program"]


# ---- derivatives and stacks ---------------------------------------------------------------------------


def test_stacks():
    stack = RNG.random((3, 5, 7))
    for op in (
        cube,
        square,
        lambda x: soft_plus(x, 1.0),
        lambda x: soft_plus(x, x[0]),
        lambda x: scaled(x, 2.0),
    ):
        want = np.stack([np.asarray(op(x)) for x in stack])
        agree(nt.jit(nt.vmap(op), target="cuda-sim:checked")(stack), want)
        agree(nt.vmap(op)(stack), want)


def test_derivatives_are_those_of_the_decomposition():
    for target in ("cuda-sim:checked", "cpu"):
        gradient = nt.jit(nt.grad(lambda x: (cube(x) + square(x)).sum()), target=target)(X)
        agree(gradient, 3 * X**2 + 2 * X)


def test_derivatives_that_are_given():
    op = nt.custom_op(lambda_scaled, shape="(m,n),()->(m,n)", cuda=SCALED, entry="scaled")
    op.def_vjp(lambda x, by: (op(x, by), by), lambda by, c: (op(c, by), None))
    agree(nt.jit(nt.grad(lambda x: (op(x, 3.0) * x).sum()), target="cuda-sim")(X), 6 * X)


def lambda_scaled(x, by):
    return x * by


# ---- faults, checks, texts ----------------------------------------------------------------------------


def test_a_race_and_a_bad_index_are_found_in_a_kernel_of_the_user():
    race = "__global__ void f(const double *x, int n, double *y, int m) { y[0] = x[threadIdx.x]; }"
    beyond = (
        "__global__ void f(const double *x, int n, double *y, int m) { y[threadIdx.x] = x[threadIdx.x]; }"
    )
    for text, what in ((race, "y"), (beyond, "x")):
        op = nt.custom_op(identity, shape="(n)->(n)", cuda=text, entry="f", block=32)
        with pytest.raises(nt.NestorError, match=f"f_[0-9a-f]*[\\s\\S]*{what}"):
            nt.jit(lambda x, op=op: op(x) + 1, target="cuda-sim:checked")(X[0])


def identity(x):
    return x.copy()


def test_check_op_compares_the_kernel_with_the_reference():
    for op, args in ((scaled, (X, 2.0)), (row_sums, (X[0, None],))):
        checked = nt.testing.check_op(op, *args)
        assert "as given: kernel, forward" in checked and "as given: kernel, reverse" in checked
    wrong = nt.custom_op(identity, cuda="__device__ double f(double x) { return x + 1; }", entry="f")
    with pytest.raises(AssertionError, match=r"kernel, forward: .* elements differ"):
        nt.testing.check_op(wrong, X)
    unfilled = nt.custom_op(
        identity, shape="(n)->(n)", cuda=HEAD + "{ if (threadIdx.x) y[threadIdx.x] = 1; }", entry="f"
    )
    with pytest.raises(AssertionError, match="kernel"):
        nt.testing.check_op(unfilled, np.ones(3))


def test_the_program_says_what_it_calls():
    text = nt.jit(lambda x: scaled(x, 2.0) + 1, target="cuda-sim", strict=True).explain(X)
    assert "calls of code in the program:" in text and "calls of Python" not in text
    assert "calls of Python" in nt.jit(lambda x: scaled(x, 2.0) + 1).explain(X)


@pytest.mark.skipif(nvrtc.available() is None, reason="no CUDA compiler is installed")
def test_a_cuda_compiler_takes_the_text_with_the_other_kernels():
    for function in FUNCTIONS:
        compiled = nt.jit(function).lower(X, 3.0).compile(target="cuda", arch="sm_90")
        assert compiled.cubin
    wrong = nt.custom_op(
        identity, shape="(n)->(n)", cuda=HEAD + "{\n  y[0] = there_is_none(x[0]);\n}", entry="f"
    )
    with pytest.raises(nt.UnsupportedError, match=r"there_is_none[\s\S]*line 2:   y\[0\]"):
        nt.jit(wrong).lower(X[0]).compile(target="cuda", arch="sm_90")


# ---- what goes wrong ------------------------------------------------------------------------------------

HEAD = "__global__ void f(const double *x, int n, double *y, int m)"
BODY = "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#include <math.h>\n" + HEAD + BODY, r"includes a header\n  line 1: #include"),
        ("__global__ void g(int n)" + BODY, r"no function 'f'[\s\S]*its kernels: g"),
        ("template <typename T> " + HEAD + BODY, r"is a template[\s\S]*NT_T0"),
        (HEAD.replace(", int m", "") + BODY, r"has 3 parameters, and these operands and results want 4"),
        (HEAD.replace("const ", "") + BODY, r"is to be const double \*\n  line 1: .*\n *\^"),
        (HEAD.replace("double *y", "float *y") + BODY, r"is to be double \*"),
        (HEAD.replace("double *y", "const double *y") + BODY, r"is to be double \*"),
        (HEAD.replace("int n", "unsigned n") + BODY, r"is to be int or int64_t"),
        (HEAD.replace("const double", "const REAL") + BODY, r"the type 'REAL' .* is not known"),
        (HEAD.replace("double *y", "double **y") + BODY, r"is to be double \*"),
        (HEAD.replace("__global__ ", "") + BODY, r"is not a kernel"),
        (HEAD.replace("void", "int") + BODY, r"is not a kernel"),
        (HEAD + "{\n  if (n) {\n  y[0] = 1;\n}", r"'\{' has no partner\n  line 1"),
        ("}" + HEAD + BODY, r"'\}' has no partner"),
        (
            "extern __shared__ double part[];\n" + HEAD + BODY,
            r"shared memory of a size that the launch gives\n  line 1",
        ),
        (HEAD + "{\n  f<<<1, 1>>>(x, n, y, m);\n}", r"launches a kernel\n  line 2"),
        (
            HEAD + "{\n  y[0] = there_is_none(x[0]);\n}",
            r"there_is_none[\s\S]*\n  line 2:   y\[0\].*\n +\^[\s\S]*docs/custom-ops",
        ),
    ],
)
def test_a_text_that_is_wrong(text, said):
    op = nt.custom_op(identity, shape="(n)->(n)", cuda=text, entry="f")
    with pytest.raises(nt.NestorError, match=said) as caught:
        nt.jit(lambda x: op(x) + 1, target="cuda-sim")(X[0])
    assert "test_own_kernels.py" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"block": 2000}, "2000 threads"),
        ({"block": (16, 16)}, "nothing says how many blocks"),
        ({"block": 0}, "block=0"),
        ({"block": (1, 1, 128), "grid": 1}, "128 threads"),
        ({"grid": "n // m"}, "what is 'm'"),
        ({"grid": "n // n"}, "divides by an extent"),
        ({"grid": "n % 0"}, "divides by 0"),
        ({"grid": "n n"}, "no expression"),
        ({"grid": "x.shape[1]"}, "asks for axis 1, and the operand has 1"),
        ({"grid": "n ** 2"}, r"what is 'n \*\* 2'"),
        ({"grid": lambda x: x.shape[4]}, "IndexError"),
        ({"grid": lambda x: min(x.shape[0], 3)}, "asks what an extent is"),
        ({"grid": lambda x: x.shape[0] / 2}, "asks what an extent is"),
        ({"grid": lambda x: (1, 2, 3, 4)}, "gives 4 values"),
        ({"grid": 7.5}, "gives 7.5"),
        ({"cuda": 3}, "not a text"),
        ({"entry": "a b"}, "no name of a function"),
        ({"shape": "elementwise", "grid": "1"}, "one thread for each element"),
        ({"cuda": None, "grid": "n"}, "there is no cuda="),
    ],
)
def test_definitions_that_are_none(given, said):
    with pytest.raises(nt.NestorError, match=said):
        nt.custom_op(identity, **{"shape": "(n)->(n)", "cuda": HEAD + BODY, "entry": "f", **given})


@pytest.mark.parametrize(
    "grid",
    [
        "(n + 255) // 256",
        "min(n, 3)",
        "max(-(n - 300), 1) - 1 + 5 % 3, x.shape[0] // 1000 + 1, 2 * 1",
        lambda x: x.shape[0],
        4,
    ],
)
def test_grids_that_cover_the_elements(grid):
    body = "{ int i = blockIdx.x * blockDim.x + threadIdx.x; for (; i < n; i += gridDim.x * blockDim.x) if (!blockIdx.z)"
    body += "y[i] = x[i]; }"
    op = nt.custom_op(identity, shape="(n)->(n)", cuda=HEAD + body, entry="f", grid=grid, block=32)
    for dynamic in (True, False):
        jitted = nt.jit(lambda x: op(x) + 1, target="cuda-sim:checked", dynamic=dynamic)
        for n in (5, 33, 100):
            agree(jitted(np.arange(float(n))), np.arange(float(n)) + 1)


def test_a_rule_that_asks_for_an_axis_that_is_not_there():
    op = nt.custom_op(
        identity,
        shape=lambda x: nt.spec(x.shape, x.dtype),
        cuda=HEAD + BODY,
        entry="f",
        grid=lambda x: x.shape[1],
    )
    with pytest.raises(nt.NestorError, match="axis 1 of operand 0, which has 1 axes"):
        nt.jit(lambda x: op(x), target="cuda-sim")(X[0])


def test_half_precision_is_refused():
    with pytest.raises(nt.NestorError, match=r"float16 among its types[\s\S]*CUDA C"):
        nt.jit(lambda x: soft_plus(x, x), target="cuda-sim")(X.astype("f2"))


def test_an_extent_that_an_int_does_not_hold_is_an_error():
    assert "int x1_m" in nt.jit(lambda x: scaled(x, 2.0)).lower(X).as_text("cuda")
    parameters = (
        KernelParameter("x1_m", "int", "extent", 0, 0),
        KernelParameter("x6_rows", "long long", "extent", 0, 0),
    )
    pack = packer_of(KernelSignature("scaled", parameters, is_own=True)).pack
    assert pack([np.empty((3, 0))], None) == [3, 3]
    with pytest.raises(nt.NestorError, match=r"x1_m = 4294967296 does not fit the int") as caught:
        pack([np.empty((1 << 32, 0))], None)
    assert "int64_t" in str(caught.value)


def test_complex_numbers_between_the_places_of_pairs_are_refused():
    op = nt.custom_op(identity, cuda="__device__ double2 f(double2 x) { return x; }", entry="f")
    jitted = nt.jit(lambda x: op(x), target="cuda-sim")
    memory = np.arange(21.0)
    first = 1 if memory.ctypes.data % 16 else 0
    apart, between = memory[first:][:20].view("c16"), memory[1 - first :][:20].view("c16")
    agree(jitted(apart), apart)
    with pytest.raises(nt.NestorError, match="no multiple of 16"):
        jitted(between)


def test_two_texts_with_the_same_names():
    text = "#define BY {}\n__device__ double helper(double x) {{ return x * BY; }}\n"
    text += "__device__ double f(double x) {{ return helper(x); }}"
    two, three = [nt.custom_op(identity, cuda=text.format(by), entry="f") for by in (2.0, 3.0)]
    agree(nt.jit(lambda x: two(x) + three(x), target="cuda-sim:checked")(X), 5 * X)


def test_an_operation_pickles_with_its_kernel():
    op = nt.custom_op(identity, cuda="__device__ double f(double x) { return x * 2; }", entry="f", block=64)
    again = pickle.loads(pickle.dumps(op))
    assert again.cuda == op.cuda
    agree(nt.jit(lambda x: again(x), target="cuda-sim")(X), 2 * X)
