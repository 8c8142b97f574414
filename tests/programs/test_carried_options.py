"""Every option of `nt.jit` through every function that is made of a jitted one: it is kept, or refused with a reason."""

import copy
import functools
import pickle
import warnings

import nestor as nt
import numpy as np
import pytest
from nestor.frontend.functional import derivatives
from nestor.frontend.jit.driver.jit_function import JitFunction

pytestmark = pytest.mark.one_of(4)

PROMISE = nt.dim("n", min=8, max=64, multiple_of=8)


def energy(x, w=None, power=2):
    y = x if w is None else x * w
    return (y**power).sum()


def row(x, w=None, power=2):
    y = x if w is None else x * w
    return y**power


MINE = """schedule.sequence @mine takes "loops" {
  %i = schedule.match loops role "outer"
  schedule.parallel %i
}"""

OPTIONS = {
    "nothing": {},
    "target": {"target": "interp"},
    "dynamic": {"dynamic": True},
    "static shapes": {"dynamic": False},
    "named axes": {"dynamic": {"x": {0: PROMISE}, "w": {0: "n"}}},
    "last axis": {"dynamic": {"x": {-1: PROMISE}}},
    "static_argnums": {"static_argnums": 2},
    "static_argnames": {"static_argnames": ("power",)},
    "fastmath": {"fastmath": ("contract", "reassoc")},
    "strict": {"strict": True},
    "fast": {"strict": "fast"},
    "boundscheck": {"boundscheck": False},
    "constants": {"constants": "w"},
    "machine": {"machine": "x86-64-v3"},
    "profile": {"profile": True},
    "hot_sizes": {"hot_sizes": True, "dynamic": True},
    "fallback": {"fallback": "numpy"},
    "autocast": {"autocast": "bf16"},
    "quantise": {"quantise": "dynamic"},
    "strategies": {"strategies": MINE},
    "several": {"dynamic": {"x": {0: PROMISE}}, "profile": True, "hot_sizes": True, "static_argnums": (2,)},
}
"""One value or more of each option."""

PLAIN = JitFunction.__init__.__kwdefaults__
NAMES = {"static_argnums": "static_argnames"}


def test_the_table_has_every_option():
    assert {name for options in OPTIONS.values() for name in options} == set(PLAIN)


def said(options):
    """What options mean, as `options()` gives them."""
    made = {**{name: value for name, value in PLAIN.items() if name not in ("static_argnums", "fallback")}}
    for name, value in options.items():
        if name == "static_argnums":
            made["static_argnames"] = ("power",)
        elif name in ("static_argnames", "constants", "strategies"):
            made[name] = (value,) if isinstance(value, str) else tuple(value)
        elif name != "fallback":
            made[name] = value
    return {**made, "fastmath": tuple(made["fastmath"] or ())}


def mapped(made, axes):
    """The options with the axes that `dynamic` names numbered otherwise."""
    if not isinstance(made["dynamic"], dict):
        return made
    dynamic = {
        name: {axes[axis]: one for axis, one in given.items()} for name, given in made["dynamic"].items()
    }
    return {**made, "dynamic": dynamic}


OF_FUNCTIONS = {
    "grad": nt.grad,
    "value_and_grad": nt.value_and_grad,
    "jacfwd": nt.jacfwd,
    "jacrev": nt.jacrev,
    "hessian": nt.hessian,
    "checkpoint": nt.checkpoint,
    "vmap": nt.vmap,
    "vmap of w as it is": lambda f: nt.vmap(f, in_axes=(0, None, None)),
    "grad of vmap": lambda f: nt.grad(nt.vmap(f)),
    "grad of grad": lambda f: nt.grad(nt.grad(f)),
    "grad of a partial": lambda f: nt.grad(functools.partial(f)),
    "again": lambda f: f.again(),
    "for_target": lambda f: f.for_target(f.target),
    "pickle": lambda f: pickle.loads(pickle.dumps(f)),
    "pickle of grad": lambda f: pickle.loads(pickle.dumps(nt.grad(f))),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}

SLICED = {"vmap": {0: 1, -1: -1}, "grad of vmap": {0: 1, -1: -1}}


@pytest.mark.one_of(3)
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("way", OF_FUNCTIONS)
def test_functions_of_a_function_have_its_options(way, name):
    jitted = nt.jit(energy, **OPTIONS[name])
    made = OF_FUNCTIONS[way](jitted)
    wanted = said(OPTIONS[name])
    if way in SLICED:
        wanted = mapped(wanted, SLICED[way])
    elif way == "vmap of w as it is" and isinstance(wanted["dynamic"], dict):
        sliced = mapped(wanted, {0: 1, -1: -1})["dynamic"]
        wanted["dynamic"] = {**wanted["dynamic"], "x": sliced["x"]}
    assert made.options() == wanted
    is_it = way in ("again", "for_target", "pickle", "copy", "deepcopy")
    assert made.given_options().get("fallback") == (OPTIONS[name].get("fallback") if is_it else None)


def call(way, made):
    """A call, and what NumPy says of it."""
    x, w = np.linspace(1, 2, 16), np.full(16, 3.0)
    w.flags.writeable = False
    value, slope = energy(x, w, 2), 2 * x * w**2
    if way == "vmap":
        ws = np.stack([w, w])
        ws.flags.writeable = False
        powers = np.array([2, 2])
        return made(np.stack([x, x + 1]), ws, powers), [value, energy(x + 1, w)]
    result = made(x, w, 2)
    return result, {"value_and_grad": (value, slope), "hessian": np.diag(2 * w**2)}.get(
        way, value if way in ("again", "checkpoint") else slope
    )


def is_static(options):
    return "static_argnums" in options or "static_argnames" in options


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("way", ["grad", "value_and_grad", "hessian", "checkpoint", "vmap", "again"])
def test_and_its_values(way, name):
    options = OPTIONS[name]
    made = OF_FUNCTIONS[way](nt.jit(energy, **options))
    if way == "vmap" and is_static(options):
        with pytest.raises(nt.NestorError):  # an array of powers is no value to compile in
            call(way, made)
        return
    for _ in range(6 if options.get("profile") else 2):
        result, wanted = call(way, made)
        for one, other in zip(
            *[(r if isinstance(r, tuple) else (r,)) for r in (result, wanted)], strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-12)


# ---- what is said of extents -------------------------------------------------------------------------


BREAKING = {
    "grad": lambda f, x: nt.grad(f)(x),
    "value_and_grad": lambda f, x: nt.value_and_grad(f)(x),
    "hessian": lambda f, x: nt.hessian(f)(x),
    "checkpoint": lambda f, x: nt.checkpoint(f)(x),
    "vmap": lambda f, x: nt.vmap(f)(np.stack([x, x])),
    "vmap along the last axis": lambda f, x: nt.vmap(f, in_axes=1)(np.stack([x, x], 1)),
    "jvp": lambda f, x: nt.jvp(f, (x,), (x,)),
    "hvp": lambda f, x: nt.hvp(f, (x,), (x,)),
    "vjp": lambda f, x: nt.vjp(f, x)[1](1.0),
    "linearize": lambda f, x: nt.linearize(f, x)[1](x),
    "for_target": lambda f, x: f.for_target("interp")(x),
    "lower": lambda f, x: f.lower(x).compile()(x),
    "lower for a spec": lambda f, x: f.lower(nt.spec((None,))).compile()(x),
    "pickle": lambda f, x: pickle.loads(pickle.dumps(f))(x),
    "pickle of a program": lambda f, x: pickle.loads(pickle.dumps(f.lower(np.ones(8)).compile()))(x),
    "grad of a partial": lambda f, x: nt.grad(functools.partial(f))(x),
}


@pytest.mark.parametrize("way", BREAKING)
def test_a_promise_holds_for_what_is_made_of_the_function(way):
    jitted = nt.jit(energy, dynamic={"x": {0: PROMISE}})
    for n in (8, 64):
        BREAKING[way](jitted, np.ones(n))
    for n in (9, 72, 4):
        with pytest.raises(nt.NestorError, match=r"declared (as|of)"):
            BREAKING[way](jitted, np.ones(n))


def test_a_promise_holds_for_what_was_saved(tmp_path):
    compiled = nt.jit(energy, dynamic={"x": {0: PROMISE}}).lower(np.ones(8)).compile()
    compiled.save(tmp_path / "f.nestor")
    loaded = nt.load(tmp_path / "f.nestor")
    assert loaded(np.ones(64)) == 64
    for n in (9, 72, 4):
        with pytest.raises(nt.NestorError, match="declared of the extent"):
            loaded(np.ones(n))


def test_programs_of_unknown_extents_serve_derivatives():
    jitted = nt.jit(energy, dynamic={"x": {0: PROMISE}})
    slopes = nt.grad(jitted)
    for n in (8, 16, 64):
        np.testing.assert_array_equal(slopes(np.ones(n)), np.full(n, 2.0))
    assert slopes.cache_info()["compiled"] == 1
    slices = nt.vmap(jitted)
    for n in (8, 16, 64):
        np.testing.assert_array_equal(slices(np.ones((3, n))), np.full(3, n))
    assert slices.cache_info()["compiled"] == 1


def test_profiles_of_derivatives():
    slopes = nt.grad(nt.jit(energy, profile=True))
    for k in range(6):
        np.testing.assert_array_equal(slopes(np.full(9, 2.0), None, 3), np.full(9, 12.0))
        assert slopes.cache_info()["compiled"] == (1 if k < 4 else 2)
    np.testing.assert_array_equal(slopes(np.full(9, 2.0), None, 2), np.full(9, 4.0))


# ---- derivatives at primals --------------------------------------------------------------------------


OF_PRIMALS = {
    "jvp": (lambda f, x, w: nt.jvp(f, (x, w), (x, w)), 1),
    "hvp": (lambda f, x, w: nt.hvp(f, (x, w), (x, w)), 1),
    "vjp": (lambda f, x, w: nt.vjp(f, x, w)[1](1.0), 2),
    "linearize": (lambda f, x, w: nt.linearize(f, x, w)[1](x, w), 2),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("way", OF_PRIMALS)
def test_derivatives_at_primals_have_the_options(monkeypatch, way, name):
    given = []
    make = derivatives.jit
    monkeypatch.setattr(derivatives, "jit", lambda f, **options: given.append(options) or make(f, **options))
    jitted = nt.jit(energy, **OPTIONS[name])
    x, w = np.linspace(1, 2, 16), np.full(16, 3.0)
    w.flags.writeable = False
    run, count = OF_PRIMALS[way]
    found = run(jitted, x, w)
    slopes = 2 * x * w**2, 2 * w * x**2
    wanted = {
        "jvp": (energy(x, w), slopes[0] @ x + slopes[1] @ w),
        "hvp": (2 * w**2 * x + 4 * x * w * w, 2 * x**2 * w + 4 * x * w * x),
        "vjp": slopes,
        "linearize": slopes[0] @ x + slopes[1] @ w,
    }[way]
    for one, other in zip(np.atleast_1d(found), np.atleast_1d(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert len(given) == count
    own = said(OPTIONS[name])
    renamed = {"x": "x0", "w": "x1"}
    if isinstance(own["dynamic"], dict):
        along = {"x": "t0", "w": "t1"} if way in ("jvp", "hvp") else {}
        both = [
            {names[key]: axes for key, axes in own["dynamic"].items()} for names in (renamed, along) if names
        ]
        own["dynamic"] = functools.reduce(lambda a, b: {**a, **b}, both)
    own["static_argnames"] = ()  # `power` is not given
    own["constants"] = tuple(renamed[one] for one in own["constants"])
    assert given[0] == own
    if count == 2:
        pulled = {**own, "constants": ()}  # it reads copies
        if way == "linearize" and isinstance(own["dynamic"], dict):
            names = {"x0": "t0", "x1": "t1"}
            pulled["dynamic"] = {**own["dynamic"], **{names[k]: v for k, v in own["dynamic"].items()}}
        assert given[1] == pulled


def test_static_primals_stay_static():
    x = np.linspace(1, 2, 4)
    slope, by_power = nt.vjp(lambda x, power: energy(x, None, power), x, 3.0)[1](1.0)
    given = nt.jit(lambda x, power: energy(x, None, power), static_argnums=1)
    for found in (nt.vjp(given, x, 3.0)[1](1.0), nt.grad(given, argnums=(0, 1))(x, 3.0)):
        np.testing.assert_allclose(found[0], slope)
        np.testing.assert_allclose(found[1], by_power)
    with pytest.raises(TypeError, match="only floats and complex numbers have derivatives"):
        nt.vjp(given, x, 3)


# ---- methods and partial functions -------------------------------------------------------------------


class Model:
    def __init__(self, scale):
        self.scale = scale

    @nt.jit(target="interp", dynamic={"x": {0: PROMISE}}, static_argnames="power")
    def loss(self, x, power=2):
        return self.scale * (x**power).sum()


def test_methods_and_partial_functions_have_the_options_of_the_function():
    for function in (
        Model(3.0).loss,
        functools.partial(Model(3.0).loss, power=2),
        functools.partial(Model.loss, Model(3.0)),
    ):
        slopes = nt.grad(function)
        assert (slopes.target, slopes.options()["static_argnames"]) == ("interp", ("power",))
        np.testing.assert_array_equal(slopes(np.ones(8)), np.full(8, 6.0))
        with pytest.raises(nt.NestorError, match="declared as n"):
            slopes(np.ones(9))
    bound = nt.grad(functools.partial(nt.jit(energy, constants="w", static_argnums=2), w=None))
    assert bound.options()["constants"] == ("w",)  # it may still be given, by name


def test_methods_have_slices():
    rows = nt.vmap(Model(3.0).loss, in_axes=(0, None))
    assert rows.options()["dynamic"] == {"x": {1: PROMISE}} and rows.target == "interp"
    np.testing.assert_array_equal(rows(np.ones((2, 8))), [24, 24])
    with pytest.raises(nt.NestorError, match="declared as n"):
        rows(np.ones((2, 9)))


@pytest.mark.parametrize("name", OPTIONS)
def test_jit_of_a_jitted_function_takes_the_plain_one(name):
    """Options are those that it is given: `f.again(...)` keeps the others."""
    jitted = nt.jit(energy, **OPTIONS[name])
    assert nt.jit(jitted).given_options() == {} and nt.jit(jitted).function is energy
    assert nt.jit(jitted, **OPTIONS[name]).given_options() == jitted.given_options()


# ---- axes of slices ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "at", "wanted"),
    [
        *[(0, 0, 1), (0, 1, 0), (1, 1, 2), (0, 2, 0)],
        *[(-1, 0, -1), (-2, 0, -2), (-1, -1, -2), (-1, -2, -1), (-2, -2, -3)],
        *[(0, -1, 0), (1, -1, 1), (0, None, 0), (-1, None, -1)],
    ],
)
def test_axes_of_slices_are_axes_of_all(axis, at, wanted):
    one = nt.jit(lambda x, y: x.sum() + y, dynamic={"x": {axis: PROMISE}})
    made = nt.vmap(one, in_axes=(at, 0))
    assert made.options()["dynamic"] == {"x": {wanted: PROMISE}}
    slice_shape = [3, 3]
    slice_shape[axis] = 16
    x = np.ones(slice_shape)
    xs = x if at is None else np.stack([x] * 5, at)
    np.testing.assert_array_equal(made(xs, np.arange(5.0)), 48 + np.arange(5.0))
    slice_shape[axis] = 17
    x = np.ones(slice_shape)
    with pytest.raises(nt.NestorError, match="declared as n"):
        made(x if at is None else np.stack([x] * 5, at), np.arange(5.0))


def test_axes_that_no_one_can_number_are_refused():
    for axis, at in ((-1, 1), (1, -2)):
        one = nt.jit(lambda x: x.sum(), dynamic={"x": {axis: "n"}})
        with pytest.raises(nt.UnsupportedError, match="from one end, and in_axes counts axis") as refused:
            nt.vmap(one, in_axes=at)
        assert "count both from the same end" in str(refused.value)
    pair = nt.jit(lambda pair: (pair[0] + pair[1]).sum(), dynamic={"pair_0": {0: "n"}})
    with pytest.raises(nt.UnsupportedError, match="in_axes has a structure for 'pair'"):
        nt.vmap(pair, in_axes=((0, 1),))
    assert nt.vmap(pair).options()["dynamic"] == {"pair_0": {1: "n"}}
    np.testing.assert_array_equal(nt.vmap(pair)((np.ones((2, 3)), np.ones((2, 3)))), [6, 6])


def test_arguments_without_a_name_of_their_own():
    total = nt.jit(lambda *parts: sum([p.sum() for p in parts]), dynamic={"parts_1": {0: PROMISE}})
    assert nt.vmap(total, in_axes=(0, 1)).options()["dynamic"] == {"parts_1": {0: PROMISE}}
    parts = np.ones(3), np.ones(8)
    assert nt.jvp(total, parts, parts) == (11, 11)
    with pytest.raises(nt.NestorError, match="declared as n"):
        nt.jvp(total, (np.ones(3), np.ones(9)), (np.ones(3), np.ones(9)))


# ---- programs ----------------------------------------------------------------------------------------


def picked(x, k):
    return x[k] * 2.0


def inverse(x):
    return np.linalg.inv(x) + 1


def layer(x, w):
    return np.maximum(x @ w, 0)


def test_programs_that_are_lowered_have_the_options(tmp_path):
    x = np.ones(16)
    assert nt.jit(energy, target="cuda-sim").lower(x).compile().target == "cuda-sim"
    assert "fast" not in nt.jit(energy).lower(x).as_text("llvm-ir").replace("fastcc", "")
    assert "reassoc" in nt.jit(energy, fastmath=True).lower(x).as_text("llvm-ir")
    k = np.array([1, 2])
    checked, unchecked = (nt.jit(picked, boundscheck=b).lower(x, k) for b in (True, False))
    assert "index" in checked.as_text() and checked.as_text() != unchecked.as_text()
    v2, v3 = (nt.jit(energy, machine=m).lower(x).as_text("asm") for m in ("x86-64", "x86-64-v3"))
    assert "ymm" in v3 and "ymm" not in v2
    assert "tensor<?xf64>" in nt.jit(energy, dynamic=True).lower(x).as_text()
    assert "tensor<16xf64>" in nt.jit(energy, dynamic=False).lower(x).as_text()
    static = nt.jit(energy, static_argnames="power").lower(x, None, 3).compile()
    static.save(tmp_path / "static.nestor")
    for program in (static, nt.load(tmp_path / "static.nestor"), pickle.loads(pickle.dumps(static))):
        assert program(x * 2, None, 3) == 8 * 16
        with pytest.raises(nt.NestorError, match="compiled for 3"):
            program(x, None, 2)
    for options in (
        {"profile": True},
        {"hot_sizes": True},
    ):  # of calls: a program is for what it is lowered for
        assert "tensor<16xf64>" in nt.jit(energy, **options).lower(x).as_text()


def test_what_compile_makes_is_strict():
    x = np.eye(3)
    for options in ({}, {"strict": True}, {"strict": "fast"}):
        lowered = nt.jit(inverse, **options).lower(x)
        if not options:
            assert lowered.compile() is not None
            continue
        with pytest.raises(nt.UnsupportedError, match="strict: "):
            lowered.compile()


def test_constants_of_programs(tmp_path):
    w = np.ones((60, 72), "f4")
    w.flags.writeable = False
    compiled = nt.jit(layer, constants="w").lower(np.ones((40, 60), "f4"), w).compile()
    assert compiled._kernel.frozen is not None
    compiled.save(tmp_path / "f.nestor")
    loaded = nt.load(tmp_path / "f.nestor")
    again = pickle.loads(pickle.dumps(compiled))
    for program in (compiled, loaded, again):
        np.testing.assert_array_equal(program(np.ones((40, 60), "f4"), w), np.full((40, 72), 60))
        with pytest.raises(nt.NestorError, match="is constant, and its array can be written"):
            program(np.ones((40, 60), "f4"), w.copy())
    with pytest.raises(nt.UnsupportedError, match="constant arguments"):
        compiled.export_c(tmp_path / "c")


def test_targets_refuse_options_that_they_have_not():
    for options in ({"profile": True}, {"hot_sizes": True}, {"fallback": "numpy"}):
        with pytest.raises(nt.NestorError, match="cuda"):
            nt.jit(energy, **options).for_target("cuda")
    assert type(nt.jit(energy).for_target("cuda")) is type(nt.jit(energy, target="cuda"))
    assert nt.trace(energy).again(dynamic=True).traced is energy


def test_derivatives_are_refused_where_the_function_falls_back():
    refused = nt.jit(lambda x: float(str(x.sum())), fallback="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert refused(np.ones(2)) == 2.0
    with pytest.raises(nt.NestorError):
        nt.grad(refused)(np.ones(2))
