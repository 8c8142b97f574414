"""ResNet-18 against torch, and an LSTM with its input products joined and apart: processor time of one thread.

OMP_NUM_THREADS=1 python -m benchmarks.layouts resnet 1 224            images and their size
OMP_NUM_THREADS=1 python -m benchmarks.layouts lstm                    joined where that pays
NESTOR_CACHE=0 OMP_NUM_THREADS=1 python -m benchmarks.layouts lstm apart
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nestor as nt
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

LSTMS = (
    (1, 64, 128), (1, 256, 128), (1, 512, 512), (4, 256, 128), (8, 256, 128), (16, 256, 128), (32, 64, 128),
    (32, 256, 128), (64, 128, 128),
)  # fmt: skip
"""Batch, inputs and states."""


def in_turns(calls: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Milliseconds of each call, the median of some turns."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(turns + 2):
        for name, call in calls.items():
            start = time.process_time()
            call()
            if turn > 1:
                taken[name].append(1e3 * (time.process_time() - start))
    return {name: statistics.median(each) for name, each in taken.items()}


def resnet(count: int, size: int, turns: int = 9) -> None:
    import resnet as example
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    net, x = example.make(rng), rng.standard_normal((count, 3, size, size)).astype(np.float32)
    calls: dict[str, Callable[[], Any]] = {}
    for name, order in (("", torch.contiguous_format), (", channels last", torch.channels_last)):
        weights, images = _tensors(torch, net, order), torch.from_numpy(x).to(memory_format=order)
        compiled = torch.compile(_in_torch(torch))
        calls["torch" + name] = lambda w=weights, i=images: _in_torch(torch)(w, i)
        calls["torch.compile" + name] = lambda f=compiled, w=weights, i=images: f(w, i)
    for name, images in (("", x), (", channels last", example.channels_last(x))):
        for constants in ((), "net"):
            function = nt.jit(example.classify, constants=constants)
            label = f"Nestor{name}{', constants' if constants else ''}"
            calls[label] = lambda f=function, i=images: f(net, i)
    exact = example.classify(example.wide(net), x.astype(np.float64))
    with torch.no_grad():
        for name, call in calls.items():
            print(f"{name}: largest error {abs(np.asarray(call()) - exact).max():.1e}")
        for name, taken in in_turns(calls, turns).items():
            print(f"{name}: {taken:.2f} ms")


def _tensors(torch, net, order):
    """The weights as tensors of torch."""
    if isinstance(net, np.ndarray):
        tensor = torch.from_numpy(net.copy())
        return tensor.to(memory_format=order) if tensor.ndim == 4 else tensor
    parts = [_tensors(torch, part, order) for part in net]
    return type(net)(*parts) if hasattr(net, "_fields") else tuple(parts)


def _in_torch(torch):
    f = torch.nn.functional

    def convolved(x, layer, stride=1):
        y = f.conv2d(x, layer.w, stride=stride, padding=layer.w.shape[2] // 2)
        return f.batch_norm(y, layer.mean, layer.var, layer.weight, layer.bias, False, 0.0, 1e-5)

    def classify(net, x):
        x = f.max_pool2d(f.relu(convolved(x, net.stem, 2)), 3, 2, 1)
        for layers in net.blocks:
            y = convolved(f.relu(convolved(x, layers[0], 1 if len(layers) == 2 else 2)), layers[1])
            x = f.relu(y + (x if len(layers) == 2 else convolved(x, layers[2], 2)))
        return x.mean((2, 3)) @ net.w + net.bias

    return classify


def lstm(how: str = "", turns: int = 30) -> None:
    import lstm as example

    if how == "apart":
        from nestor.transforms import pipelines

        pipelines.PIPELINES["to-fusions"] = tuple(
            name for name in pipelines.PIPELINES["to-fusions"] if name != "nt-batch-dots"
        )
    rng = np.random.default_rng(0)
    for batch, inputs, n in LSTMS:
        shapes = (50, batch, inputs), (batch, n), (batch, n), (inputs, 4 * n), (n, 4 * n), (4 * n,)
        arguments = [rng.standard_normal(shape).astype(np.float32) / 10 for shape in shapes]
        function = nt.jit(example.lstm)
        taken = in_turns({"": lambda: function(*arguments)}, turns)[""]  # noqa: B023
        print(f"batch {batch}, {inputs} inputs, {n} states: {taken:.3f} ms")


if __name__ == "__main__":
    what, *numbers = sys.argv[1:]
    if what == "resnet":
        resnet(*map(int, numbers))
    else:
        lstm(*numbers)
