"""ATen operations of neural networks: convolutions, pooling, normalisation, attention, and their derivatives.

A derivative is `nt.vjp` of the operation that it is of, so there is one meaning of each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..functional.derivatives import vjp
from ..nn import attention, avg_pool, batch_norm, conv, max_pool
from ..nn.normalise import standardised
from ..numpy_api.definitions import dtype_of, recorded, xp
from .indexing import _grid
from .reducing import floating
from .table import row

# ---- convolutions -----------------------------------------------------------------------------------


def _each(value: Any, rank: int) -> tuple[int, ...]:
    value = value if isinstance(value, tuple) else (value,)
    return value * rank if len(value) == 1 else value


def _convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    rank = weight.ndim - 2
    stride, padding, dilation = (_each(one, rank) for one in (stride, padding, dilation))
    x, w = floating(input), floating(weight)
    b = None if bias is None else floating(bias)
    if not transposed:
        return recorded(conv, x, w, b, stride, padding, dilation, groups)
    extra = _each(output_padding, rank)
    space = tuple(
        (x.shape[k + 2] - 1) * stride[k] - 2 * padding[k] + dilation[k] * (w.shape[k + 2] - 1) + extra[k] + 1
        for k in range(rank)
    )
    like = recorded(np.zeros, (x.shape[0], w.shape[1] * groups, *space), dtype_of(x))
    made = recorded(_conv_vjp, x, like, w, stride, padding, dilation, groups)[0]
    return made if b is None else made + xp.reshape(b, (1, -1) + (1,) * rank)


def _conv_vjp(g, x, w, stride, padding, dilation, groups):
    """What a cotangent of a convolution is for its input and its weight."""

    def forward(x, w):
        return conv(x, w, None, stride, padding, dilation, groups)

    _, pullback = vjp(forward, x, w)
    return pullback(g)


def _convolution_backward(
    grad_output: Any,
    input: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
) -> tuple[Any, Any, Any]:
    rank = weight.ndim - 2
    stride, padding, dilation = (_each(one, rank) for one in (stride, padding, dilation))
    g, x, w = floating(grad_output), floating(input), floating(weight)
    d_x = d_w = None
    if output_mask[0] or output_mask[1]:
        d_x, d_w = recorded(_conv_vjp, g, x, w, stride, padding, dilation, groups)
    axes = (0, *range(2, 2 + rank))
    d_b = xp.sum(g, axis=axes) if output_mask[2] else None
    return d_x if output_mask[0] else None, d_w if output_mask[1] else None, d_b


def _backward_takes(given: Mapping[str, Any]) -> str | None:
    return "the derivative of a transposed convolution" if given.get("transposed") else None


row("aten.convolution.default", _convolution)
row("aten.convolution_backward.default", _convolution_backward, takes=_backward_takes)


# ---- pooling ----------------------------------------------------------------------------------------


def _windows(self: Any, kernel_size: Any, stride: Any, padding: Any) -> tuple[Any, Any, Any]:
    window = _each(kernel_size, len(kernel_size) if len(kernel_size) > 1 else 2)
    rank = len(window)
    return window, _each(stride, rank) if stride else window, _each(padding, rank)


def _max_pool(
    self: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = (0,),
    dilation: Any = (1,),
    ceil_mode: bool = False,
) -> tuple[Any, Any]:
    """The largest elements, and where in the plane of its channel each is."""
    window, stride, padding = _windows(self, kernel_size, stride, padding)
    best = recorded(max_pool, self, window, stride, padding)
    return best, recorded(_max_places, self, window, stride, padding)


def _max_places(x, window, stride, padding):
    width = x.shape[-1]
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    around = ((0, 0),) * (x.ndim - 2) + ((padding[0], padding[0]), (padding[1], padding[1]))
    p = np.pad(x, around, constant_values=lowest)
    view = np.lib.stride_tricks.sliding_window_view(p, window, (x.ndim - 2, x.ndim - 1))
    view = view[..., :: stride[0], :: stride[1], :, :]
    place = np.argmax(view.reshape(*view.shape[:-2], window[0] * window[1]), axis=-1)
    rows, columns = place.shape[-2], place.shape[-1]
    row = np.expand_dims(np.arange(rows) * stride[0] - padding[0], 1) + place // window[1]
    column = np.arange(columns) * stride[1] - padding[1] + place % window[1]
    return row * width + column


def _max_pool_backward(
    grad_output: Any,
    self: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Any,
) -> Any:
    """Each cotangent goes where the largest element was."""
    height, width = self.shape[-2], self.shape[-1]
    outer = self.shape[:-2]
    made = recorded(np.zeros, (*outer, height * width), dtype_of(grad_output))
    index = xp.reshape(indices, (*outer, -1))
    grad = xp.reshape(grad_output, (*outer, -1))
    recorded(np.add.at, made, _grid(index, index.ndim - 1), grad)
    return xp.reshape(made, self.shape)


def _pool_takes(given: Mapping[str, Any]) -> str | None:
    if given.get("ceil_mode"):
        return "windows that lie partly outside (ceil_mode)"
    if any(one != 1 for one in given.get("dilation", (1,))):
        return "windows with gaps (dilation)"
    return None


def _avg_pool(
    self: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    window, stride, padding = _windows(self, kernel_size, stride, padding)
    return recorded(avg_pool, floating(self), window, stride, padding)


def _avg_pool_vjp(g, x, window, stride, padding):
    def forward(x):
        return avg_pool(x, window, stride, padding)

    _, pullback = vjp(forward, x)
    return pullback(g)[0]


def _avg_pool_backward(
    grad_output: Any,
    self: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Any,
) -> Any:
    window, stride, padding = _windows(self, kernel_size, stride, padding)
    return recorded(_avg_pool_vjp, floating(grad_output), floating(self), window, stride, padding)


def _avg_pool_takes(given: Mapping[str, Any]) -> str | None:
    if given.get("ceil_mode"):
        return "windows that lie partly outside (ceil_mode)"
    if given.get("divisor_override") is not None:
        return "a divisor of its own (divisor_override)"
    is_padded = any(given.get("padding", (0,)))
    counts = given.get("count_include_pad", True)
    return "windows whose zeros of the padding do not count" if is_padded and not counts else None


row("aten.max_pool2d_with_indices.default", _max_pool, takes=_pool_takes)
row("aten.max_pool2d_with_indices_backward.default", _max_pool_backward)
row("aten.avg_pool2d.default", _avg_pool, takes=_avg_pool_takes)
row("aten.avg_pool2d_backward.default", _avg_pool_backward, takes=_avg_pool_takes)


# ---- normalisation ----------------------------------------------------------------------------------


def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    x = floating(input)
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    made = recorded(standardised, x, axes, eps)
    made = made if weight is None else made * floating(weight)
    made = made if bias is None else made + floating(bias)
    mean = xp.mean(x, axis=axes, keepdims=True)
    variance = xp.mean((x - mean) * (x - mean), axis=axes, keepdims=True)
    return made, mean, 1 / xp.sqrt(variance + dtype_of(x).type(eps))


def _group_norm(
    input: Any, weight: Any, bias: Any, N: Any, C: Any, HxW: Any, group: int, eps: float
) -> tuple[Any, Any, Any]:
    x = xp.reshape(floating(input), (N, group, -1))
    made = xp.reshape(recorded(standardised, x, (2,), eps), input.shape)
    channels = (1, C) + (1,) * (input.ndim - 2)
    made = made if weight is None else made * xp.reshape(floating(weight), channels)
    made = made if bias is None else made + xp.reshape(floating(bias), channels)
    mean = xp.mean(x, axis=2)
    centred = x - xp.expand_dims(mean, 2)
    return made, mean, 1 / xp.sqrt(xp.mean(centred * centred, axis=2) + dtype_of(x).type(eps))


def _batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> tuple[Any, Any, Any]:
    x = floating(input)
    parts = [None if one is None else floating(one) for one in (running_mean, running_var, weight, bias)]
    none = recorded(np.zeros, (0,), np.float32)
    return recorded(batch_norm, x, *parts, eps), none, none


row("aten.native_layer_norm.default", _layer_norm)
row("aten.native_group_norm.default", _group_norm)
row("aten._native_batch_norm_legit_no_training.default", _batch_norm)


# ---- attention --------------------------------------------------------------------------------------


def _attention(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> tuple[Any, Any]:
    """The result, and the logarithms of the sums that the softmax divides by."""
    q, k, v = (floating(one) for one in (query, key, value))
    mask = _mask(q, k, attn_mask, is_causal)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    made = recorded(attention, q, k, v, mask, scale)
    return made, recorded(_log_sums, q, k, mask, scale)


def _mask(q: Any, k: Any, attn_mask: Any, is_causal: bool) -> Any:
    if is_causal:
        rows, columns = q.shape[-2], k.shape[-2]
        places = xp.reshape(recorded(np.arange, rows), (-1, 1))
        return places >= recorded(np.arange, columns)
    return attn_mask if attn_mask is None or dtype_of(attn_mask) == np.bool_ else floating(attn_mask)


def _log_sums(q, k, mask, scale):
    scores = (q @ np.swapaxes(k, -1, -2)) * scale
    if mask is not None:
        if mask.dtype == np.bool_:
            scores = np.where(mask, scores, -np.inf)
        else:
            scores = scores + mask
    largest = np.max(scores, axis=-1)
    return np.log(np.sum(np.exp(scores - np.expand_dims(largest, -1)), axis=-1)) + largest


def _attention_vjp(g, q, k, v, mask, scale):
    def forward(q, k, v):
        return attention(q, k, v, mask, scale)

    _, pullback = vjp(forward, q, k, v)
    return pullback(g)


def _attention_backward(
    grad_out: Any,
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    logsumexp: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> tuple[Any, Any, Any]:
    g, q, k, v = (floating(one) for one in (grad_out, query, key, value))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return recorded(_attention_vjp, g, q, k, v, _mask(q, k, attn_mask, is_causal), scale)


def _attention_takes(given: Mapping[str, Any]) -> str | None:
    return "dropout of the scores" if given.get("dropout_p") else None


row("aten._scaled_dot_product_flash_attention_for_cpu.default", _attention, takes=_attention_takes)
row(
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
    _attention_backward,
    takes=_attention_takes,
)
