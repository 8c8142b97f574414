"""`nt.custom_op(schedule=...)`: an operation's schedule on the nests of its decomposition, wherever they are its own."""

import pickle
import re

import nestor as nt
import numpy as np
import pytest

RNG = np.random.default_rng(5)
X = RNG.random((24, 40))
W = RNG.random((40, 40)) / 40


def softened(x):
    e = np.exp(x)
    return e / e.sum(axis=1)[:, None]


SPLIT = """schedule.sequence @cpu for @whatever params {T = 5} {
  %j = schedule.match loops ["j"]
  %o, %v = schedule.split %j by @T tail(mask)
  %w = schedule.match loops ["j.1"]
  %wo, %wi, %rest = schedule.split %w by 7
}"""
BOUND = """schedule.sequence @cuda {
  %i = schedule.match loops ["i"]
  %o, %t = schedule.split %i by 3 tail(mask)
  schedule.bind %o to "block.x"
  schedule.bind %t to "thread.x"
}"""


def op_of(function, schedule, shape="(m,n)->(m,n)"):
    return nt.custom_op(function, shape=shape, decomposition=function, schedule=schedule)


def recorded(function):
    made = nt.schedule(nt.jit(function).lower(X))
    made.split("j", 5, tail="mask")
    made.split("j.1", 7)
    return made


soft = op_of(softened, SPLIT)


def alone(x):
    return soft(x)


def among_others(x, w):
    y = soft(x @ w)
    return y @ w + 1, np.cumsum(x, axis=0)


def fused(x):
    return np.sqrt(soft(x)) * 2 + x


def agree(got, want):
    several = isinstance(want, tuple)
    for one, other in zip(got if several else (got,), want if several else (want,), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def is_split(text):
    """Whether the loops of a program are as SPLIT makes them."""
    tens = re.search(r'"j[.\d]*\.o" %\S+ = 0 to 8 ', text)
    return tens is not None and re.search(r'"j[.\d]*\.o" %\S+ = 0 to 5 ', text) is not None


@pytest.mark.parametrize("schedule", [SPLIT, recorded(softened), {"cpu": SPLIT, "cuda": BOUND}])
def test_the_nests_of_an_operation_are_scheduled_as_it_says(schedule):
    op = op_of(softened, schedule)
    jitted = nt.jit(lambda x: op(x))
    agree(jitted(X), softened(X))
    assert is_split(jitted.lower(X).as_text("nest"))
    assert "is not used" not in jitted.explain(X)


def test_among_other_nests_loops_have_the_names_that_they_have_alone():
    jitted = nt.jit(among_others)
    agree(jitted(X, W), among_others(X, W))
    assert is_split(jitted.lower(X, W).as_text("nest"))
    assert "is not used" not in jitted.explain(X, W)


def test_what_is_fused_with_others_is_scheduled_with_them_and_says_so():
    jitted = nt.jit(fused)
    agree(jitted(X), fused(X))
    assert not is_split(jitted.lower(X).as_text("nest"))
    text = jitted.explain(X)
    assert "the schedule of softened is not used: its loops are those of other operations, too" in text


def test_a_step_that_is_refused_leaves_the_automatic_schedule():
    for text, said in (
        (SPLIT.replace('"j.1"', '"k"'), 'unknown loop "k"'),
        (SPLIT.replace("tail(mask)", "tail(perfect)").replace("T = 5", "T = 7"), "step 2"),
        ("schedule.sequence @cpu {\n  schedule.simplify\n}", "is a step on whole functions"),
    ):
        op = op_of(softened, text)
        jitted = nt.jit(lambda x, op=op: op(x))
        agree(jitted(X), softened(X))
        plain = nt.jit(softened).lower(X).as_text("nest")
        assert nest_lines(jitted.lower(X).as_text("nest")) == nest_lines(plain)
        found = jitted.explain(X)
        assert "the schedule of softened is not used:" in found and said in found


def nest_lines(text):
    return [re.sub(r"%\S+", "%", line) for line in text.splitlines() if "nest.for" in line]


def test_a_gpu_takes_its_own_schedule():
    op = op_of(softened, {"cpu": SPLIT, "cuda": BOUND})
    jitted = nt.jit(lambda x: op(x), target="cuda-sim:checked")
    agree(jitted(X), softened(X))
    assert "__launch_bounds__(3)" in jitted.lower(X).as_text("cuda")
    only = op_of(softened, BOUND)
    assert "__launch_bounds__(3)" in nt.jit(lambda x: only(x)).lower(X).as_text("cuda")
    assert not is_split(nt.jit(lambda x: only(x)).lower(X).as_text("nest"))


def test_in_loops_calls_of_it_each_have_the_schedule():
    def rounds(x, w):
        y = x
        for _ in range(3):
            y = soft(y @ w) @ w
        return y

    jitted = nt.jit(rounds)
    agree(jitted(X, W), rounds(X, W))
    assert len(re.findall(r'"j[.\d]*\.o" %\S+ = 0 to 8 ', jitted.lower(X, W).as_text("nest"))) == 3
    assert "is not used" not in jitted.explain(X, W)


def test_derivatives_and_stacks_are_right():
    gradient = nt.jit(nt.grad(lambda x: (soft(x) ** 2).sum()))(X)
    agree(gradient, nt.grad(lambda x: (softened(x) ** 2).sum())(X))
    stack = RNG.random((3, 24, 40))
    agree(nt.jit(nt.vmap(soft))(stack), np.stack([softened(x) for x in stack]))


def test_a_schedule_for_the_whole_program_takes_its_place():
    low = nt.jit(alone).lower(X)
    made = nt.schedule(low)
    made.split("j", 11, tail="mask")
    compiled = low.compile(schedule=made)
    agree(compiled(X), softened(X))


def test_it_pickles_and_is_read_from_files(tmp_path):
    (tmp_path / "soft.mlir").write_text(SPLIT)
    op = op_of(softened, tmp_path / "soft.mlir")
    again = pickle.loads(pickle.dumps(op))
    assert again.schedules == op.schedules == soft.schedules
    assert is_split(nt.jit(lambda x: again(x)).lower(X).as_text("nest"))


def test_what_is_no_schedule(tmp_path):
    (tmp_path / "none.mlir").write_text("nothing")
    for given, said in (
        (3, "schedule=3 is no schedule"),
        ({"tpu": SPLIT}, "schedule= has 'tpu'"),
        (str(tmp_path / "missing.mlir"), "cannot read the schedule"),
        (tmp_path / "none.mlir", "has no schedule.sequence"),
    ):
        with pytest.raises(nt.NestorError, match=re.escape(said)):
            op_of(softened, given)
    with pytest.raises(nt.NestorError, match="there is none"):
        nt.custom_op(softened, shape="(m,n)->(m,n)", schedule=SPLIT)
    broken = op_of(softened, "schedule.sequence @cpu { %j = schedule.nothing }")
    with pytest.raises(nt.NestorError, match="the schedule of softened is none") as caught:
        nt.jit(lambda x: broken(x))(X)
    assert "test_own_schedules.py" in str(caught.value)
