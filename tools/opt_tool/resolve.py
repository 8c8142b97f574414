"""From the text of a pipeline to passes that can be run: names are looked up, options bound."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from xdsl.passes import ModulePass

from ...analysis.machine import Cpu, Gpu
from ...transforms.pass_manager import AnchorNode, Node, PassNode
from ...transforms.pipelines import PIPELINES
from ...transforms.registry import PASSES, load_pass
from .machines import for_machine
from .pass_options import instantiate
from .pipeline_syntax import Element, PipelineError, parse_pipeline
from .plugins import PLUGIN_PASSES


def known_names() -> list[str]:
    """Everything a pipeline may name: passes of plugins, Nestor's, the named pipelines, xDSL's passes."""
    from xdsl.transforms import get_all_passes

    return list(dict.fromkeys([*PLUGIN_PASSES, *PASSES, *named_pipelines(), *get_all_passes()]))


def named_pipelines() -> dict[str, tuple[str, ...]]:
    """Pipelines with a name of their own: `-p cpu`."""
    return PIPELINES


def resolve(elements: Iterable[Element], machine: Cpu | Gpu | None = None) -> tuple[Node, ...]:
    """Look every name up and bind the options; passes that ask for a machine get this one. Raises `PipelineError`."""
    return tuple(node for element in elements for node in _resolve_element(element, machine, ()))


def _resolve_element(
    element: Element, machine: Cpu | Gpu | None, inside: tuple[str, ...]
) -> tuple[Node, ...]:
    if element.children is not None:
        children = tuple(n for child in element.children for n in _resolve_element(child, machine, inside))
        return (AnchorNode(element.name, children),)
    if element.name in named_pipelines() and element.name not in PASSES:
        return _resolve_named(element, machine, inside)
    pass_class = _load(element)
    if machine is not None:
        element = for_machine(element, pass_class, machine)
    return (PassNode(element, instantiate(pass_class, element)),)


def _resolve_named(element: Element, machine: Cpu | Gpu | None, inside: tuple[str, ...]) -> tuple[Node, ...]:
    if element.name in inside:
        raise PipelineError(f"pipeline '{element.name}' contains itself", element.place)
    if element.options:
        message = f"'{element.name}' is a named pipeline, which takes no options"
        raise PipelineError(message, element.options[0].place, hint="spell its passes out to change one")
    specs = parse_pipeline(",".join(named_pipelines()[element.name]), f"<pipeline {element.name}>")
    return tuple(n for spec in specs for n in _resolve_element(spec, machine, (*inside, element.name)))


def _load(element: Element) -> type[ModulePass]:
    if element.name in PLUGIN_PASSES:
        return PLUGIN_PASSES[element.name]
    try:
        return load_pass(element.name)
    except KeyError:
        raise unknown_pass(element) from None
    except (ImportError, AttributeError) as error:
        message = f"pass '{element.name}' cannot be loaded: {error}"
        raise PipelineError(message, element.place) from error


def unknown_pass(element: Element) -> PipelineError:
    close = get_close_matches(element.name, known_names(), 3)
    guess = "did you mean " + " or ".join(f"'{c}'" for c in close) + "? " if close else ""
    hint = f"{guess}--list-passes shows them all"
    return PipelineError(f"unknown pass '{element.name}'", element.place, hint=hint)


def print_nodes(nodes: Iterable[Node]) -> str:
    """The text of a resolved pipeline, in which named pipelines are spelled out."""
    return ",".join(
        str(node.element) if isinstance(node, PassNode) else f"{node.anchor}({print_nodes(node.children)})"
        for node in nodes
    )
