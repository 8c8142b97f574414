"""`nt.torch_function`, and what is said where PyTorch is not installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from ...dialects.tracebacks import boundary
from ..interface.errors import UnsupportedError

EXTRA = "pip install 'nestor[torch]'"


@boundary
def torch_function(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A NumPy function, or a jitted one, as a function of PyTorch tensors that autograd and `torch.compile` know.

        @nt.torch_function
        def smooth(x, width):
            return np.tanh(x / width)

        smooth(tensor, 3.0).sum().backward()        # forward and backward are compiled by Nestor

    Positional arguments are tensors in the memory of the host, or numbers, texts and None, which are compiled in. The result
    is a tensor, or a tuple of them, in memory of its own. Gradients are those of `nt.vjp`, with respect to tensors of
    floats; the backward pass computes what it needs of the forward pass again, and has no derivative itself. `options` are
    those of `nt.jit`; a jitted function brings its own.

    Raises UnsupportedError where PyTorch is not installed, for functions that write to their arguments, and under
    `torch.vmap`; a call raises what one of the jitted function would.
    """
    if find_spec("torch") is None:
        raise UnsupportedError("nt.torch_function needs PyTorch, which is not installed", hint=EXTRA)
    from .differentiable import made

    return made(function, options)
