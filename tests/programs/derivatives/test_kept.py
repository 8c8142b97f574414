"""What `explain` and `low.svg()` say of both halves of a derivative, against the nests that are compiled."""

import re
from xml.dom.minidom import parseString

import nestor as nt
import numpy as np
import pytest
from nestor.analysis.tensor.residuals import derivatives_in
from nestor.dialects.nest import AccumulateOp, AllocOp, LoadOp, StoreOp
from nestor.dialects.nt import halves
from nestor.dialects.nt.halves import half_of
from nestor.dialects.nt.ops import LoopsOp
from nestor.dialects.nt.work import Role, role_of
from nestor.frontend.jit.specialise.stages import lowered_copy
from xdsl.dialects.builtin import FusedLoc, MemRefType

from benchmarks import yardstick

pytestmark = pytest.mark.one_of(3)

RNG = np.random.default_rng(3)
X, Y, W = RNG.standard_normal((8, 3)), RNG.standard_normal((8, 4)), RNG.standard_normal((3, 4))
S = RNG.standard_normal((3, 3)) / 3
ROWS, ONES = RNG.standard_normal((6, 16)), np.ones(16)


def fit(w, x, y):
    h = np.tanh(x @ w)
    e = h - y
    return (np.exp(e) * e).sum()


def two_layers(w, v, x):
    h = np.tanh(x @ w)
    return (h @ v * x).sum()


def normed(x, scale, shift):
    centred = x - x.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)
    return ((centred / deviation * scale + shift) ** 2).sum()


def recurrent(h, w, n):
    for _ in range(n):
        h = np.tanh(h @ w)
    return (h * h).sum()


def decaying(h, w):
    while h.sum() > 0.1:
        h = h * np.tanh(w)
    return (h * h).sum()


def chosen(x):
    if x.sum() > 0:
        y = np.exp(x @ S)
    else:
        y = x * x
    return (y * y).sum()


def stencil(u):
    s = np.zeros_like(u)
    for i in range(1, u.shape[0] - 1):
        s[i] = np.sin(u[i - 1]) * u[i + 1]
    return (s * s).sum()


def swept(u):
    u = u.copy()
    for _ in range(4):
        for i in range(1, u.shape[0] - 1):
            u[i] = np.sin(u[i - 1]) * u[i + 1]
    return (u * u).sum()


def train(w, x, y, rate, steps):
    for _ in range(steps):
        g = nt.grad(lambda v: ((np.tanh(x @ v) - y) ** 2).mean())(w)
        w = w - rate * g
    return w


def fused(function, *args):
    """The functions of a program, as they are where nests are made of them."""
    function = function if hasattr(function, "lower") else nt.jit(function)
    return list(lowered_copy(function.lower(*args).program.module, ("to-fusions",)).ops)


def derivative(function, *args):
    """The only derivative of a program."""
    (found,) = [one for op in fused(function, *args) for one in derivatives_in(op)]
    return found


def section(function, *args):
    """The part of `explain` that is about derivatives."""
    function = function if hasattr(function, "lower") else nt.jit(function)
    said = function.explain(*args)
    return said[said.index("derivative of") : said.index("history:")]


def test_one_kernel_does_both_halves_and_keeps_nothing():
    said = section(nt.grad(lambda x, w: np.exp(np.tanh(x) * w).sum(), argnums=(0, 1)), X, X)
    assert "both halves at once, 1 kernel:" in said
    assert "nothing is kept" in said and "forward half" not in said and "backward half" not in said


def test_kept_values_have_the_names_of_variables():
    said = section(nt.grad(two_layers, argnums=(0, 1)), W, W.T.copy(), X)
    assert re.search(
        r"kept for the backward half: 256 bytes\n +h +f64\[8, 4\] +256 bytes +tanh at test_kept.py:\d+\n",
        said,
    )
    assert "read, and there anyway: x, v" in said


def test_a_norm_keeps_numbers_of_rows_and_computes_the_rest_again():
    one = derivative(nt.grad(normed, argnums=(0, 1, 2)), ROWS, ONES, ONES)
    assert {k.shape for k in one.kept} == {(6, 1)} and one.total.number == 2 * 6 * 8
    assert {v.name_hint for v in one.there_anyway} == {"x", "scale", "shift"}
    assert {name for name, _ in one.again()} >= {"subtract", "divide"}
    (deviation,) = [k for k in one.kept if k.name == "deviation"]
    assert deviation.maker.kind == "both" and {u.kind for u in deviation.readers} == {"backward"}


def test_unknown_extents_are_names():
    gradient = nt.jit(nt.grad(normed, argnums=(0, 1, 2)), dynamic=True)
    assert str(derivative(gradient, ROWS, ONES, ONES).total) == "16 * x_0"
    said = section(nt.grad(recurrent, argnums=1), X, S, 5)
    assert re.search(
        r"hs +f64\[\(max\(n, 0\) \+ 1\), 8, 3\] +192 \* \(max\(n, 0\) \+ 1\) bytes +filled by the loop at",
        said,
    )
    assert len(re.findall(r"^ +hs ", said, re.M)) == 1
    assert re.search(r"h +f64\[8, 3\] +192 bytes +left by the loop at", said)
    assert re.search(r"h: tanh \(line \d+\), in the loop at test_kept.py:\d+", said)


def test_a_while_loop_runs_again():
    said = section(nt.grad(decaying, argnums=1), abs(X) + 0.1, X)
    assert "192 * max(count, 0) bytes" in said and "which runs again to have it" in said
    again = said[said.index("computed again in the backward half:") :]
    assert "multiply at test_kept.py" in again and "tanh at test_kept.py" in again


def test_what_the_side_of_a_branch_that_ran_computed_is_kept():
    one = derivative(nt.grad(chosen), X)
    assert any(k.op.name == "scf.if" for k in one.kept)


def test_an_island_computes_again():
    said = section(nt.grad(stencil), RNG.standard_normal(30))
    assert re.search(r"s +f64\[30\] +240 bytes +written by the loops at", said)
    assert re.search(r"computed again in the backward half:\n    sin at", said)


def test_an_island_keeps_what_it_overwrites():
    line = np.linspace(0.0, 1.0, 30)
    one = derivative(nt.grad(swept), line)
    assert [k.name for k in one.kept if k.name != "u"] and one.total.number == 240 + 2 * 4 * 28 * 8
    unknown = derivative(nt.jit(nt.grad(swept), dynamic=True), line)
    assert str(unknown.total) == "64 * max((u_0 - 2), 0) + 8 * u_0"


def test_a_derivative_inside_a_program():
    said = section(train, W[:, 0].copy(), X, Y[:, 0].copy(), 0.1, 4)
    assert said.startswith("derivative of lambda:") and "in the loop at test_kept.py" in said
    assert "backward half" in said


def test_each_derivative_has_its_part():
    def both(x):
        first = nt.grad(lambda v: (np.sin(v) @ S).sum())(x)
        return first + nt.grad(lambda v: np.exp(v @ S).sum())(x)

    names = [one.name for op in fused(both, X) for one in derivatives_in(op)]
    assert len(names) == 2 and len(set(names)) == 2


def test_of_a_second_derivative_the_outer_one_is_shown():
    def slope(x):
        return (nt.grad(lambda v: (np.tanh(v @ S) ** 2).sum())(x) ** 2).sum()

    one = derivative(nt.grad(slope), X)
    assert one.name == "slope" and one.units


def test_a_rule_of_the_user_is_of_the_backward_half():
    @nt.custom_vjp
    def product(x, w):
        return x @ w

    def fwd(x, w):
        return product(x, w), (x, w)

    def bwd(kept, c):
        x, w = kept
        return c @ w.T, x.T @ c

    product.defvjp(fwd, bwd)
    one = derivative(nt.grad(lambda x, w: np.exp(product(x, w)).sum(), argnums=(0, 1)), X, W)
    assert [u.kind for u in one.units if u.op.name == "nt.dot"] == ["forward", "backward", "backward"]


def test_what_a_checkpoint_does_not_keep_is_computed_again():
    function = nt.checkpoint(two_layers, policy="save-nothing")
    one = derivative(nt.grad(function, argnums=(0, 1)), W, W.T.copy(), X)
    assert not one.kept and {name for name, _ in one.again()} == {"dot", "tanh"}
    assert next(u.op.name for u in one.units if u.kind == "backward" and u.again) == "nt.dot"


def test_programs_without_a_derivative_have_no_such_part():
    said = nt.jit(lambda x: np.tanh(x).sum()).explain(X)
    assert "derivative" not in said and "half" not in said
    tangents = nt.jit(lambda x: nt.jvp(np.tanh, (x,), (x,))[1])
    assert "derivative of" not in tangents.explain(X)


# ---- against the nests -------------------------------------------------------------------------------------


def crossing_bytes(function, *args):
    """The bytes of the buffers that a forward store of one nest fills and a later nest of the backward half reads."""
    function = function if hasattr(function, "lower") else nt.jit(function)
    module = lowered_copy(function.lower(*args).program.module, ("to-loops",))
    total = 0
    for buffer in [op for op in module.walk() if isinstance(op, AllocOp)]:
        kind = buffer.memref.type
        writers, readers = set(), set()
        for use in buffer.memref.uses:
            op = use.operation
            half = half_of(op)
            if isinstance(op, LoadOp):
                readers.add(nest_of(op))
            elif half is not None and not half.is_backward:
                writers.add(nest_of(op))
        assert isinstance(kind, MemRefType)
        if writers and any(is_backward(nest) for nest in readers - writers):
            total += int(np.prod(kind.get_shape(), dtype=int)) * kind.element_type.bitwidth // 8
    return total


def nest_of(op):
    while op.parent_op() is not None and op.parent_op().name != "func.func":
        op = op.parent_op()
    return op


def is_backward(nest):
    found = {
        half.is_backward
        for op in nest.walk()
        if isinstance(op, StoreOp | AccumulateOp)
        if (half := half_of(op))
    }
    return found == {True}


PROGRAMS = [
    (nt.grad(two_layers, argnums=(0, 1, 2)), (W, W.T.copy(), X)),
    (nt.grad(normed, argnums=(0, 1, 2)), (ROWS, ONES, ONES)),
    (nt.value_and_grad(lambda x: (nt.nn.softmax(x @ W) ** 2).sum()), (X,)),
    (nt.grad(stencil), (ROWS[:, 0].copy(),)),
]


def test_what_one_kernel_computes_and_reads_again_does_not_cross():
    one = derivative(nt.grad(fit), W, X, Y)
    assert [u.kind for u in one.units] == ["forward", "both", "backward"] and not one.kept


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=["layers", "norm", "softmax", "stencil"])
def test_as_many_bytes_cross_between_the_nests(function, args):
    assert derivative(function, *args).total.number == crossing_bytes(function, *args)


GRADIENTS = [row for row in yardstick.ROWS.values() if row.name.startswith("grad-")]


@pytest.mark.parametrize("row", GRADIENTS, ids=lambda row: row.name)
def test_passes_keep_what_locations_say(row):
    functions = fused(row.program, *row.make(small=True))
    computing = [
        op
        for f in functions
        for op in f.walk()
        if role_of(op) in (Role.COMPUTES, Role.APART) or isinstance(op, LoopsOp)
    ]
    found = [half_of(op) for op in computing]
    assert {None if half is None else half.is_backward for half in found} == {False, True}
    nests = lowered_copy(nt.jit(row.program).lower(*row.make(small=True)).program.module, ("to-nest",))
    stores = [op for op in nests.walk() if isinstance(op, StoreOp | AccumulateOp)]
    # what a sum starts from has the locations of all of its fusion
    assert stores and all(half_of(op) or isinstance(op.location, FusedLoc) for op in stores)


@pytest.mark.parametrize("level", ["llvm-ir", "cuda"])
def test_code_is_the_same_without_halves(level, monkeypatch):
    program = nt.grad(normed, argnums=(0, 1, 2)).lower(ROWS, ONES, ONES)
    loop = nt.grad(recurrent, argnums=1).lower(X, S, 5)
    marked = [low.as_text(level) for low in (program, loop)]
    monkeypatch.setattr(halves.Mark, "on", lambda self, location: location)
    assert [low.as_text(level) for low in (program, loop)] == marked


# ---- pictures and text -------------------------------------------------------------------------------------


def picture(function, *args):
    return (
        nt.jit(function).lower(*args).svg() if not hasattr(function, "lower") else function.lower(*args).svg()
    )


def boxes(svg, style):
    rects = [r for r in parseString(svg).getElementsByTagName("rect") if r.getAttribute("class") == style]
    return [tuple(float(r.getAttribute(k)) for k in ("x", "y", "width", "height")) for r in rects]


@pytest.mark.parametrize(
    ("function", "args"),
    [*PROGRAMS, (nt.grad(recurrent, argnums=1), (X, S, 5)), (nt.grad(decaying, argnums=1), (abs(X), X))],
)
def test_a_picture_has_a_box_for_each_kernel_and_each_kept_value(function, args):
    one, svg = derivative(function, *args), picture(function, *args)
    drawn = {style: boxes(svg, style) for style in ("forward", "both", "backward", "kept")}
    assert {kind: len(units) for kind, units in one.kernels.items()} == {
        k: len(drawn[k]) for k in one.kernels
    }
    assert len(drawn["kept"]) == len(one.kept)
    arrows = re.findall(r"<title>\w+ is (computed|read)</title>", svg)
    assert arrows.count("computed") == sum(k.maker is not None for k in one.kept)
    assert arrows.count("read") == sum(len(k.readers) for k in one.kept)
    everything = [box for found in drawn.values() for box in found]
    for k, (x, y, w, h) in enumerate(everything):
        for x2, y2, w2, h2 in everything[k + 1 :]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
    assert f">kept: {one.total} bytes<" in svg


def test_without_a_derivative_there_is_no_picture():
    with pytest.raises(nt.NestorError, match="no derivative to draw"):
        picture(lambda x: np.tanh(x).sum(), X)


def test_fused_text_has_the_names_of_variables():
    low = nt.grad(two_layers, argnums=(0, 1)).lower(W, W.T.copy(), X)
    assert "nt.vjp" in low.as_text("nt") and "nt.vjp" not in low.as_text("nt-fused")
    assert re.search(r"%h\b[^=\n]*= nt.fusion", low.as_text("nt-fused"))
    norm = nt.grad(normed, argnums=(0, 1, 2)).lower(ROWS, ONES, ONES).as_text("nt-fused")
    assert re.search(r"%deviation\b[^=\n]*= nt.fusion", norm)
