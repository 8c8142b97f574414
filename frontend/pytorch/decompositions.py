"""What PyTorch takes apart: all of its decompositions to core operations, but of operations that the table has."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

from .operations import OPERATIONS

aten = torch.ops.aten


@cache
def decompositions() -> dict[Any, Callable[..., Any]]:
    """By operation."""
    table = OPERATIONS
    found: dict[Any, Callable[..., Any]] = dict(core_aten_decompositions())
    found.update(get_decompositions(_MORE))
    found = {op: how for op, how in found.items() if str(op) not in table}
    found[aten.native_dropout.default] = _dropout
    return found


_MORE = [
    aten.native_batch_norm,
    aten._native_batch_norm_legit,
    aten._native_batch_norm_legit_functional,
    aten.native_batch_norm_backward,
    aten.native_layer_norm_backward,
    aten.native_group_norm_backward,
    aten._softmax_backward_data,
    aten._log_softmax_backward_data,
    aten.gelu_backward,
    aten.silu_backward,
    aten.tanh_backward,
    aten.sigmoid_backward,
    aten.threshold_backward,
    aten.hardtanh_backward,
    aten.hardswish_backward,
    aten.leaky_relu_backward,
    aten.elu_backward,
    aten.softplus_backward,
    aten.nll_loss_forward,
    aten.nll_loss_backward,
    aten.mse_loss,
    aten.mse_loss_backward,
    aten.select_backward,
    aten.slice_backward,
    aten.upsample_nearest2d,
    aten.upsample_nearest2d_backward,
    aten.upsample_bilinear2d,
    aten._adaptive_avg_pool2d,
    aten._adaptive_avg_pool2d_backward,
    aten.native_dropout_backward,
]


def _dropout(input: torch.Tensor, p: float, train: bool | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Random numbers are PyTorch's, from its generator and in its order; the rest is computed with what is around it."""
    if train is False or p == 0:
        return input, torch.ones_like(input, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(input), torch.zeros_like(input, dtype=torch.bool)
    kept = torch.bernoulli(torch.empty(input.shape, dtype=torch.bool, device=input.device), p=1 - p)
    return input * kept * (1 / (1 - p)), kept
