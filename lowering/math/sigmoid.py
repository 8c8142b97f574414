"""The expansion of the sigmoid."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .builder import FormBuilder, format_of
from .exp_log import exp_minus_one


def sigmoid(b: FormBuilder, x: SSAValue) -> SSAValue:
    """t = 1 / (1 + e^|x|) for x < 0, else 1 - t, where e^|x| = (1 + p) 2^n.

    t is h / (h + (1 + p) g) with g = h 2^n, where h is so small that g does not overflow; the sum is in two parts, and
    h is multiplied last, so that denormal results round once.
    """
    form = format_of(x)
    log2e, ln2 = form.constants.log2e[0], form.constants.ln2
    small = (form.bias + 1) // 2
    h = 2.0**-small
    bounded = b.at_most(b.abs(x), -form.exp_low)
    # As round_scaled; the low bits hold the biased exponent of g.
    magic = 1.5 * 2.0**form.mantissa + form.bias - small
    shifted = b.fma(bounded, log2e, magic)
    n = b.sub(shifted, magic)
    g = b.from_bits(b.integer(arith.ShLIOp, b.bits(shifted), form.mantissa), x)
    p = exp_minus_one(b, b.fma(n, -ln2[1], b.fma(n, -ln2[0], bounded)))
    below = b.fma(p, g, b.add(g, h))
    t = b.div(1.0, below)
    if not b.approximate:
        lost = b.fma(p, g, b.sub(h, b.sub(below, g)))
        rest = b.fma(b.neg(t), lost, b.fma(b.neg(t), below, 1.0))
        t = b.fma(t, rest, t)
    t = b.mul(t, h)
    return b.select(b.compare("olt", x, 0.0), t, b.sub(1.0, t))
