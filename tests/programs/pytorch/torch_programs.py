"""Functions of PyTorch captured as AOTAutograd does, and compiled; without Dynamo, which takes most of the time."""

from __future__ import annotations

import functools

import torch
from functorch.compile import aot_function
from nestor.frontend.pytorch.backend import compiler
from nestor.frontend.pytorch.decompositions import decompositions


def compiled(function, **options):
    """`function`, of tensors, compiled; `.graphs` are what was compiled so far."""
    graphs = []

    def compile(name, module, example_inputs):
        made = compiler(options)(name, module, example_inputs)
        graphs.append(made.compiled)
        return made

    made = aot_function(
        function,
        fw_compiler=functools.partial(compile, "forward"),
        bw_compiler=functools.partial(compile, "backward"),
        inference_compiler=functools.partial(compile, "inference"),
        decompositions=decompositions(),
    )

    def run(*args):
        return made(*args)

    run.graphs = graphs
    return run


def check(function, *args, rtol=None, atol=None, strides=True, **options):
    """Compare with PyTorch: values, dtypes, shapes, and strides where PyTorch's own kernels give them."""
    expected = function(*args)
    run = compiled(function, **options)
    found = run(*args)
    same(found, expected, rtol, atol, strides)
    return run


def same(found, expected, rtol=None, atol=None, strides=True):
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b, rtol, atol, strides)
        return
    if not isinstance(expected, torch.Tensor):
        assert found == expected
        return
    torch.testing.assert_close(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    if strides and expected.numel() > 1:
        kept = [k for k, n in enumerate(expected.shape) if n > 1]
        assert [found.stride(k) for k in kept] == [expected.stride(k) for k in kept]


def operations_by_torch(run):
    """The operations that PyTorch ran, but for views of what a program made."""
    return [str(one) for graph in run.graphs for one in graph.imported.remarks]


__all__ = ["check", "compiled", "operations_by_torch", "same", "torch"]
