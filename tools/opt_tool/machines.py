"""`--machine=NAME`: the description that passes and targets are told of, as options of these passes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ...analysis.machine import CPUS, GPUS, Cpu, Gpu, UnknownMachine, pass_options, unknown
from ...dialects.diagnostic import SourceLocation
from .pipeline_syntax import Element, Option, PipelineError

if TYPE_CHECKING:
    from ...transforms.pass_manager import Node


def find_machine(name: str) -> Cpu | Gpu:
    """The machine of that name; `host` is this one. Raises `PipelineError`."""
    if name == "host":
        from ...runtime.cpu.host import host

        return host()
    try:
        found = {**CPUS, **GPUS}.get(name)
        if found is None:
            raise unknown(name)
    except UnknownMachine as error:
        raise PipelineError(f"--machine: {error}", hint=f"{error.hint}; host is this processor") from None
    return found


def for_machine(element: Element, pass_class: type, machine: Cpu | Gpu) -> Element:
    """A pass with the options that describe a machine, where it asks for one and is not told of it already."""
    place, given = SourceLocation("--machine"), {option.key.replace("-", "_") for option in element.options}
    if "machine" in given:
        return element
    own = tuple(
        Option(key.replace("_", "-"), (str(value).lower(),), place)
        for key, value in pass_options(pass_class, machine).items()
        if key not in given
    )
    return replace(element, options=(*own, *element.options))


def asks_for_machine(nodes: Iterable[Node], machine: Cpu | Gpu) -> bool:
    """Whether a pass of a pipeline is told of the machine."""
    for node in nodes:
        children = getattr(node, "children", None)
        if children is not None:
            if asks_for_machine(children, machine):
                return True
        elif pass_options(type(node.module_pass), machine):  # pyright: ignore
            return True
    return False
