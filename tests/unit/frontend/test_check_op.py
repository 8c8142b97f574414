"""`nt.testing.check_op`: what it compares, and that each thing that can be wrong is found."""

import nestor as nt
import numpy as np
import pytest

RNG = np.random.default_rng(11)
X = RNG.random((4, 6))
C = "double twice(double x) { return 2 * x; }"


def twice(x):
    return 2 * x


def found(op, *args, **options):
    with pytest.raises(AssertionError) as caught:
        nt.testing.check_op(op, *args, **options)
    return str(caught.value)


def test_what_is_compared():
    op = nt.custom_op(twice, c=C, decomposition=lambda x: x + x)
    done = nt.testing.check_op(op, X)
    for variant in (
        "as given",
        "odd extents",
        "strided",
        "transposed in memory",
        "empty, 4 as 0",
        "empty, 6 as 0",
    ):
        for what in ("rule", "interp", "cpu", "decomposition", "cuda-sim"):
            assert f"{variant}: {what}" in done
    assert {"as given: cpu, unknown extents", "derivative of argument 0"} <= {*done}


def test_numbers_several_results_and_refusals():
    op = nt.custom_op(lambda x, by: ((x * by).sum(), x[0]), shape="(4,n),()->(),(n)")
    done = nt.testing.check_op(op, X, 3)
    assert "as given: cpu" in done and any(line.startswith("odd extents: rule: axis 0") for line in done)
    assert "derivative: none is given" in done


def test_wrong_code_and_wrong_decompositions():
    text = found(
        nt.custom_op(twice, c="double twice(double x) { return x > 0.5 ? 2 * x + 1e-9 : 2 * x; }"), X
    )
    assert "as given: cpu: " in text and "elements differ" in text and "interp" not in text
    text = found(nt.custom_op(twice, decomposition=lambda x: 2.001 * x), X)
    assert "as given: decomposition: 24 of 24" in text and "cuda-sim" in text


def test_a_text_that_works_for_the_given_extents_only():
    c = "void four(const double *x, int64_t m, int64_t n, double *y, int64_t k, int64_t l) "
    c += "{ for (int64_t i = 0; i < m * n; i++) y[i] = m == 4 ? x[i] : 0; }"
    text = found(nt.custom_op(lambda x: x + 0, shape="(m,n)->(m,n)", c=c, entry="four"), X)
    assert "odd extents: cpu" in text and "as given" not in text


def test_wrong_rules():
    text = found(nt.custom_op(lambda x: x.sum(axis=0)), X)
    assert "as given: rule" in text and "returned float64[6]" in text
    assert "returned float64" in found(nt.custom_op(twice, dtype="f4"), X)


def test_wrong_derivatives():
    for form in ("vjp", "jvp"):
        op = nt.custom_op(lambda x, y: x * y)
        if form == "vjp":
            op.def_vjp(lambda x, y, op=op: (op(x, y), (x, y)), lambda r, c: (c * r[1], c))
        else:
            op.def_jvp(lambda p, t, op=op: (op(*p), t[0] * p[1] + t[1]))
        text = found(op, X, X[::-1])
        assert "derivative of argument 1" in text and "derivative of argument 0" not in text


def test_right_derivatives_of_singles():
    op = nt.custom_op(lambda x, n: np.sin(x) * n)
    op.def_vjp(
        lambda x, n: (op(x, n), (x, n)), lambda r, c: (c * np.cos(r[0]) * r[1], None), nondiff_argnums=()
    )
    assert "derivative of argument 0" in nt.testing.check_op(op, X.astype("f4"), 3, rtol=1e-5)


def test_operations_that_raise_or_write():
    def writes(x):
        x[0] = 1
        return x

    assert "read-only" in found(nt.custom_op(writes), X)
    assert "the reference raises ZeroDivisionError" in found(nt.custom_op(lambda x: x / (1 // 0)), X)


def test_what_is_no_operation():
    with pytest.raises(TypeError, match=r"nt\.custom_op gives"):
        nt.testing.check_op(twice, X)
