"""Nestor: an MLIR-style multi-level tensor compiler. `import nestor as nt`.

The public names load on first use (PEP 562): importing the package costs nothing but itself.
"""

from __future__ import annotations

__version__ = "0.1.0"

_PUBLIC = {
    "jit": ".frontend.jit.driver.jit",
    "spec": ".frontend.interface.spec",
    "custom_call": ".frontend.script.own_calls",
    "fork": ".frontend.interface.forks",
    "wait": ".frontend.interface.forks",
    "trace": ".frontend.jit.driver.trace",
    "disable_jit": ".frontend.jit.driver.plain_calls",
    "debug_nans": ".frontend.jit.driver.nan_watch",
    "load": ".frontend.jit.driver.load",
    "schedule": ".frontend.jit.driver.schedule",
    "grad": ".frontend.functional.derivatives",
    "value_and_grad": ".frontend.functional.derivatives",
    "jvp": ".frontend.functional.derivatives",
    "vjp": ".frontend.functional.derivatives",
    "linearize": ".frontend.functional.derivatives",
    "hvp": ".frontend.functional.derivatives",
    "stop_gradient": ".frontend.functional.derivatives",
    "vmap": ".frontend.functional.slices",
    "jacfwd": ".frontend.functional.jacobians",
    "jacrev": ".frontend.functional.jacobians",
    "hessian": ".frontend.functional.jacobians",
    "checkpoint": ".frontend.functional.checkpoints",
    "custom_vjp": ".frontend.interface.custom_rules",
    "custom_jvp": ".frontend.interface.custom_rules",
    "set_num_threads": ".runtime.cpu.threads",
    "get_num_threads": ".runtime.cpu.threads",
    "NestorError": ".dialects.diagnostic",
    "UnsupportedError": ".frontend.interface.errors",
}

_MODULES = {"cache": ".frontend.jit.driver.cache", "nn": ".frontend.nn", "random": ".frontend.nn.random"}

__all__ = ["__version__", *_PUBLIC, *_MODULES]


def __getattr__(name: str):
    from importlib import import_module

    from .runtime.collector import collector_paused

    place = _MODULES.get(name) or _PUBLIC.get(name)
    if place is not None:
        with collector_paused():
            module = import_module(place, __name__)
        if name in _MODULES:
            return module
        globals()[name] = value = getattr(module, name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
