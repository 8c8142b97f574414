"""Which rule differentiates which function of NumPy that compiled code calls.

A function has the tangents of its results, and reverse mode is their transpose, or it has a rule for each mode. One
without a rule is refused, as functions of the user are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from .....dialects.nt.ops import CustomCallOp
from ...missing import missing
from ...transposed import Tangents, add_transposed
from . import fourier, histograms, linear_algebra, sorting, tables

if TYPE_CHECKING:
    from ...forward import Forward
    from ...reverse import Reverse

TANGENTS: dict[str, Tangents] = {
    "numpy.interp": tables.interp,
    "numpy.linalg.inv": linear_algebra.inv,
    "numpy.linalg.pinv": linear_algebra.pinv,
    "numpy.linalg.lstsq": linear_algebra.lstsq,
    "numpy.linalg.lstsq.residuals": linear_algebra.residuals,
    "numpy.linalg.det": linear_algebra.det,
    "numpy.linalg.cofactors": linear_algebra.cofactors,
    "numpy.linalg.slogdet": linear_algebra.slogdet,
    "numpy.linalg.matrix_power": linear_algebra.matrix_power,
    "numpy.linalg.cholesky": linear_algebra.cholesky,
    "numpy.linalg.qr": linear_algebra.qr,
    "numpy.linalg.eigh": linear_algebra.eigh,
    "numpy.linalg.eigvalsh": linear_algebra.eigvalsh,
    "numpy.linalg.svd": linear_algebra.svd,
    "numpy.linalg.svdvals": linear_algebra.svdvals,
}
"""Functions that are differentiated by the tangents of their results."""

BOTH: dict[str, tuple[Tangents, Callable[..., None]]] = {
    "numpy.linalg.solve": (linear_algebra.solve_forward, linear_algebra.solve_reverse),
    "numpy.bincount": (tables.bincount_forward, tables.bincount_reverse),
    "numpy.histogram": (histograms.forward, histograms.reverse),
    "numpy.histogram.counts": (histograms.forward, histograms.reverse),
    "numpy.sort": (sorting.sort_forward, sorting.sort_reverse),
    "numpy.partition": (sorting.partition_forward, sorting.partition_reverse),
    **{
        f"numpy.{name}": (sorting.statistic_forward, sorting.statistic_reverse)
        for name in ("median", "quantile", "percentile")
    },
    **{f"numpy.fft.{name}": (fourier.forward, fourier.reverse) for name in fourier.LINES + fourier.SEVERAL},
}
"""Functions that have a rule for each mode."""


def forward(op: CustomCallOp, by: Forward) -> Sequence[SSAValue | None]:
    rule = TANGENTS.get(op.target.data) or BOTH.get(op.target.data, (None,))[0]
    if rule is None:
        raise missing(op)
    return rule(op, by)


def reverse(op: CustomCallOp, cotangents: Sequence[SSAValue | None], to: Reverse) -> None:
    rule = TANGENTS.get(op.target.data)
    if rule is not None:
        return add_transposed(op, op.inputs, cotangents, to, rule)
    if op.target.data not in BOTH:
        raise missing(op)
    BOTH[op.target.data][1](op, cotangents, to)
