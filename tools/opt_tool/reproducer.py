"""Reproducers: the IR before a failing pass and the pass, in one file that replays.

It has mlir-opt's form: a module, then `{-# external_resources: { mlir_reproducer: { pipeline: ... } } #-}`.
"""

from __future__ import annotations

import sys

from xdsl.ir import Operation

from ...dialects.diagnostic import NestorError, SourceLocation
from .pipeline_syntax import Element, PipelineError, parse_pipeline, print_pipeline
from .printing import PrintOptions, print_ir
from .source import write_output

_RESOURCE = "mlir_reproducer"


class CrashReproducer:
    """`--crash-reproducer=FILE`: when a pass fails, write the module before it, and that pass alone."""

    def __init__(self, path: str, *, verify: bool):
        self._path = path
        self._verify = verify
        self._text = ""
        self._anchors: list[str] = []

    def before_pass(self, element: Element, op: Operation) -> None:
        # As text at once: a pass that fails leaves the module half changed.
        root = op.get_toplevel_object()
        assert isinstance(root, Operation)
        self._text = print_ir(root, PrintOptions(generic=True, debuginfo=True))
        self._anchors = _anchor_path(op)

    def after_pass(self, element: Element, op: Operation) -> None:
        pass

    def pass_failed(self, element: Element, op: Operation) -> None:
        pipeline = print_pipeline((element,))
        for anchor in reversed(self._anchors):
            pipeline = f"{anchor}({pipeline})"
        quoted = pipeline.replace("\\", "\\\\").replace('"', '\\"')
        footer = (
            "\n{-#\n  external_resources: {\n"
            f"    {_RESOURCE}: {{\n"
            f'      pipeline: "{quoted}",\n'
            "      disable_threading: true,\n"
            f"      verify_each: {'true' if self._verify else 'false'}\n"
            "    }\n  }\n#-}\n"
        )
        header = f"// Replay: opt-tool --run-reproducer {self._path}\n"
        try:
            write_output(self._path, header + self._text + footer)
        except NestorError as error:
            # The failure of the pass is the news, not this.
            print(f"warning: no reproducer: {error.diagnostic.message}", file=sys.stderr)
            return
        print(f"reproducer written to '{self._path}': pass '{element.name}' fails on it", file=sys.stderr)


def reproducer_pipeline(resources: dict[str, dict[str, str]], name: str) -> tuple[Element, ...]:
    """The pipeline in the reproducer block of a parsed input."""
    text = resources.get(_RESOURCE, {}).get("pipeline")
    if text is None:
        hint = "such a file is written by --crash-reproducer=FILE"
        raise NestorError("the input holds no reproducer", SourceLocation(name), hint=hint)
    try:
        return parse_pipeline(text)
    except PipelineError as error:
        message = f"bad pipeline in the reproducer: {error.diagnostic.message}"
        raise NestorError(message, SourceLocation(name)) from error


def _anchor_path(op: Operation) -> list[str]:
    names = [op.name]
    while (parent := op.parent_op()) is not None:
        names.append(parent.name)
        op = parent
    return names[::-1]
