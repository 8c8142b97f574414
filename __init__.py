"""Nestor: an MLIR-style multi-level tensor compiler. `import nestor as nt`.

The public names load on first use (PEP 562): importing the package costs nothing but itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dialects.diagnostic import NestorError as NestorError
    from .frontend import nn as nn
    from .frontend import quant as quant
    from .frontend import testing as testing
    from .frontend.functional.checkpoints import checkpoint as checkpoint
    from .frontend.functional.derivatives import grad as grad
    from .frontend.functional.derivatives import hvp as hvp
    from .frontend.functional.derivatives import jvp as jvp
    from .frontend.functional.derivatives import linearize as linearize
    from .frontend.functional.derivatives import stop_gradient as stop_gradient
    from .frontend.functional.derivatives import value_and_grad as value_and_grad
    from .frontend.functional.derivatives import vjp as vjp
    from .frontend.functional.jacobians import hessian as hessian
    from .frontend.functional.jacobians import jacfwd as jacfwd
    from .frontend.functional.jacobians import jacrev as jacrev
    from .frontend.functional.loss_scale import LossScale as LossScale
    from .frontend.functional.slices import vmap as vmap
    from .frontend.interface import errors as errors
    from .frontend.interface.custom_ops import custom_op as custom_op
    from .frontend.interface.custom_rules import custom_jvp as custom_jvp
    from .frontend.interface.custom_rules import custom_vjp as custom_vjp
    from .frontend.interface.errors import UnsupportedError as UnsupportedError
    from .frontend.interface.forks import fork as fork
    from .frontend.interface.forks import wait as wait
    from .frontend.interface.named_extents import dim as dim
    from .frontend.interface.spec import spec as spec
    from .frontend.jit.driver import cache as cache
    from .frontend.jit.driver.autocasting import autocast as autocast
    from .frontend.jit.driver.chunking import chunking as chunking
    from .frontend.jit.driver.jit import jit as jit
    from .frontend.jit.driver.load import load as load
    from .frontend.jit.driver.nan_watch import debug_nans as debug_nans
    from .frontend.jit.driver.plain_calls import disable_jit as disable_jit
    from .frontend.jit.driver.schedule import schedule as schedule
    from .frontend.jit.driver.strategies import strategies as strategies
    from .frontend.jit.driver.trace import trace as trace
    from .frontend.nn import random as random
    from .frontend.operations.own_calls import custom_call as custom_call
    from .frontend.operations.own_reductions import reduce as reduce
    from .frontend.pytorch.torch_function import torch_function as torch_function
    from .runtime.cpu.threads import get_num_threads as get_num_threads
    from .runtime.cpu.threads import set_num_threads as set_num_threads

__version__ = "0.1.0"

_PUBLIC = {
    "jit": ".frontend.jit.driver.jit",
    "spec": ".frontend.interface.spec",
    "dim": ".frontend.interface.named_extents",
    "custom_call": ".frontend.operations.own_calls",
    "custom_op": ".frontend.interface.custom_ops",
    "reduce": ".frontend.operations.own_reductions",
    "fork": ".frontend.interface.forks",
    "wait": ".frontend.interface.forks",
    "trace": ".frontend.jit.driver.trace",
    "chunking": ".frontend.jit.driver.chunking",
    "autocast": ".frontend.jit.driver.autocasting",
    "disable_jit": ".frontend.jit.driver.plain_calls",
    "debug_nans": ".frontend.jit.driver.nan_watch",
    "load": ".frontend.jit.driver.load",
    "schedule": ".frontend.jit.driver.schedule",
    "strategies": ".frontend.jit.driver.strategies",
    "grad": ".frontend.functional.derivatives",
    "value_and_grad": ".frontend.functional.derivatives",
    "jvp": ".frontend.functional.derivatives",
    "vjp": ".frontend.functional.derivatives",
    "linearize": ".frontend.functional.derivatives",
    "hvp": ".frontend.functional.derivatives",
    "stop_gradient": ".frontend.functional.derivatives",
    "LossScale": ".frontend.functional.loss_scale",
    "vmap": ".frontend.functional.slices",
    "jacfwd": ".frontend.functional.jacobians",
    "jacrev": ".frontend.functional.jacobians",
    "hessian": ".frontend.functional.jacobians",
    "checkpoint": ".frontend.functional.checkpoints",
    "custom_vjp": ".frontend.interface.custom_rules",
    "custom_jvp": ".frontend.interface.custom_rules",
    "torch_function": ".frontend.pytorch.torch_function",
    "set_num_threads": ".runtime.cpu.threads",
    "get_num_threads": ".runtime.cpu.threads",
    "NestorError": ".dialects.diagnostic",
    "UnsupportedError": ".frontend.interface.errors",
}

_MODULES = {
    "errors": ".frontend.interface.errors",
    "cache": ".frontend.jit.driver.cache",
    "nn": ".frontend.nn",
    "quant": ".frontend.quant",
    "random": ".frontend.nn.random",
    "testing": ".frontend.testing",
}

__all__ = ["__version__", *_PUBLIC, *_MODULES]


def __getattr__(name: str):
    place = _MODULES.get(name) or _PUBLIC.get(name)
    # before any import: pytest asks for names of its own, by a folder that may have any name
    if place is None:
        import sys

        try:
            raise AttributeError(
                f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__]
            )
        except AttributeError as error:
            error.__traceback__ = None  # no line of this file is shown: dialects/tracebacks.py says how
            raise
    from importlib import import_module

    from .runtime.collector import collector_paused

    with collector_paused():
        module = import_module(place, __name__)
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value  # the next time it is no call
    return value


def __dir__():
    return sorted(__all__)
