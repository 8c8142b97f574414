"""The driver: read, split, parse, run, print; every failure becomes a diagnostic and an exit code."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...analysis.machine import Cpu
from ...dialects.diagnostic import NestorError, SourceLocation
from ...dialects.parse import parse_located
from ...dialects.remarks import listening
from ...dialects.verifier import verify
from ...transforms.pass_manager import InternalFailure, Node, PassManager, internal_failure
from .context import make_tool_context
from .instrumentation import IRDumper, Timer
from .ir_diff import IRDiff
from .machines import asks_for_machine, find_machine
from .pipeline_syntax import SOURCE_NAME, Element, Option, PipelineError, parse_pipeline, print_pipeline
from .plugins import load_plugins
from .printing import PrintOptions
from .reporter import CollectingReporter, Reporter
from .reproducer import CrashReproducer, reproducer_pipeline
from .resolve import named_pipelines, print_nodes, resolve, unknown_pass
from .source import Chunk, off_standard_output, read_input, split_chunks, write_bytes, write_output
from .targets import BY_MACHINE, TARGETS, Target
from .verify_diagnostics import check_expectations

if TYPE_CHECKING:
    from .run_arguments import RunRequest

_RECURSION_LIMIT = 20_000
"""Parser, printer and xDSL's passes recurse with the nesting of the IR: Python's 1000 is too low."""


_TOP_ANCHORS = ("builtin.module", "any")


class UsageError(NestorError):
    """The command line asks for something that does not exist."""


class Driver:
    """One run of opt-tool."""

    def __init__(self, options: argparse.Namespace):
        self._options = options
        self._reporter = Reporter()
        self._timer = Timer()
        self._machine = None
        self._printing = PrintOptions(options.print_op_generic, options.print_debuginfo)
        self._exit_code = 0
        self._found_faults = False
        self._diff: IRDiff | None = None

    def run(self) -> int:
        """The whole run; returns the exit code."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
        try:
            load_plugins(self._options.load_pass_plugin)
            if self._print_information():
                return 0
            self._run_input()
        except NestorError as error:
            self._fail(error)
        except BrokenPipeError:
            raise
        except Exception as error:
            self._fail(_chained(internal_failure("opt-tool", error), error))
        finally:
            sys.setrecursionlimit(limit)
        if self._options.timing:
            self._timer.report()
        return self._exit_code or int(self._found_faults)

    def _print_information(self) -> bool:
        options = self._options
        dialects = options.show_dialects
        if dialects is None and (options.markdown or options.irdl):
            raise UsageError("--markdown and --irdl say how --show-dialects prints, and it is not there")
        if options.completion is not None:
            from .shell_completion import completion_script

            write_output(options.output, completion_script(options.completion))
        elif options.version:
            print(_information().version())
        elif options.list_passes:
            _information().list_passes()
        elif dialects is not None:
            self._show_dialects([name.strip() for name in dialects.split(",") if name.strip()])
        else:
            return False
        return True

    def _show_dialects(self, names: list[str]) -> None:
        options = self._options
        if options.markdown and options.irdl:
            raise UsageError("--markdown and --irdl exclude each other")
        if options.irdl:
            from .irdl_export import irdl_of

            write_output(options.output, irdl_of(_known_dialects(names, _information().irdl_names())))
        elif options.markdown:
            pages = _information().dialect_pages(_known_dialects(names, _information().dialect_names()))
            write_output(options.output, pages)
        else:
            _information().show_dialects(
                _known_dialects(names, _information().dialect_names()) if names else None
            )

    def _run_input(self) -> None:
        target = _find_target(self._options.target)
        if target.is_document and self._options.split_input_file:
            name = self._options.target
            raise UsageError(f"target '{name}' makes one document, and --split-input-file would make several")
        self._check_run_options()
        if self._options.machine is not None:
            self._machine = find_machine(self._options.machine)
            self._printing = replace(self._printing, machine=self._machine)
        if self._options.print_ir_diff is not None:
            self._diff = IRDiff(self._options.print_ir_diff, self._printing)
        with self._timer.phase("Load passes"):
            nodes = resolve((*self._schedules(), *self._pipeline_elements()), self._machine)
        if self._options.dump_pass_pipeline:
            print(f"Pass pipeline: builtin.module({print_nodes(nodes)})", file=sys.stderr)
        self._check_pass_lists()
        self._check_machine(nodes)
        with self._timer.phase("Read"):
            text, name = self._read()
        self._reporter.sources[name] = text
        chunks = split_chunks(text) if self._options.split_input_file else [Chunk(text, 1)]
        outputs: list[Any] = []
        for chunk in chunks:
            output = self._run_chunk(chunk, name, nodes, target)
            if output is not None:
                outputs.append(output)
        if not self._writes_arrays and (self._options.output == "-" or not self._exit_code):
            is_bytes = any(isinstance(one, bytes) for one in outputs)  # of one document
            write_output(self._options.output, outputs[0] if is_bytes else "// -----\n".join(outputs))

    def _read(self) -> tuple[str, str]:
        if self._options.emit_nt is None:
            return read_input(self._options.input)
        return "", "<python>"

    def _pipeline_elements(self) -> tuple[Element, ...]:
        options = self._options
        if options.passes is not None and options.pass_pipeline is not None:
            raise UsageError("-p and --pass-pipeline exclude each other")
        if options.pass_pipeline is not None:
            self._reporter.sources[SOURCE_NAME] = options.pass_pipeline
            return _unwrap_anchor(parse_pipeline(options.pass_pipeline))
        self._reporter.sources[SOURCE_NAME] = options.passes or ""
        elements = parse_pipeline(options.passes or "")
        return _unwrap_anchor(elements) if _is_anchored(elements) else elements

    def _schedules(self) -> tuple[Element, ...]:
        """`--apply-schedule=FILE` is the pass of that name, before the others."""
        place = SourceLocation("--apply-schedule")
        files = self._options.apply_schedule
        return tuple(Element("apply-schedule", place, (Option("file", (file,), place),)) for file in files)

    def _check_pass_lists(self) -> None:
        for option in ("print_ir_before", "print_ir_after"):
            text = getattr(self._options, option)
            for element in parse_pipeline(text, f"--{option.replace('_', '-')}"):
                _check_pass_name(element)

    def _check_machine(self, nodes: tuple[Node, ...]) -> None:
        if (
            self._machine is None
            or asks_for_machine(nodes, self._machine)
            or self._options.target in BY_MACHINE
        ):
            return
        kind = "processor" if isinstance(self._machine, Cpu) else "GPU"
        message = (
            f"--machine={self._options.machine}: no pass of this pipeline, and no target, is for a {kind}"
        )
        raise UsageError(message, hint="-p cpu and -t asm are for a processor; -p cuda is for a GPU")

    def _run_chunk(self, chunk: Chunk, name: str, nodes: tuple[Node, ...], target: Target) -> Any:
        """The output for one piece of the input, or None when it failed."""
        if not self._options.verify_diagnostics:
            return self._try_chunk(chunk, name, nodes, target, self._reporter)
        collector = CollectingReporter()
        output = self._try_chunk(chunk, name, nodes, target, collector)
        for diagnostic in check_expectations(chunk, name, collector.diagnostics):
            self._reporter.emit(diagnostic)
            self._exit_code = 1
        return output

    def _try_chunk(
        self, chunk: Chunk, name: str, nodes: tuple[Node, ...], target: Target, reporter: Reporter
    ) -> Any:
        try:
            with listening(reporter.emit):
                return self._process(chunk, name, nodes, target)
        except NestorError as error:
            self._fail(error, reporter)
        except RecursionError as error:
            self._fail(_chained(NestorError("the IR is nested too deeply to print"), error), reporter)
        except Exception as error:
            self._fail(_chained(internal_failure("opt-tool", error), error), reporter)
        return None

    def _process(self, chunk: Chunk, name: str, nodes: tuple[Node, ...], target: Target) -> Any:
        options = self._options
        context = make_tool_context(allow_unregistered=options.allow_unregistered_dialect)
        with self._timer.phase("Parse"):
            module, resources = self._load(chunk, name, context)
        if not options.no_verify:
            with self._timer.phase("Verify input"):
                verify(module)
        if options.run_reproducer:
            nodes = resolve(_unwrap_anchor(reproducer_pipeline(resources, name)))
        self._check_roundtrip(module, context)
        self._run_passes(nodes, module, context)
        if nodes:
            self._check_roundtrip(module, context)
        if options.run:
            with self._timer.phase("Run"):
                return self._run_function(module)
        if target.runs:
            with self._timer.phase("Run"):
                return self._simulate(module)
        with self._timer.phase("Output"):
            return self._emit(target, module)

    def _simulate(self, module: ModuleOp) -> str:
        """What the simulator reports, as JSON where `-o` names such a file; with faults the run has failed."""
        from .simulate import simulate

        found = simulate(module, self._run_request())
        self._found_faults = self._found_faults or bool(found.faults)
        return found.to_json() if self._options.output.endswith(".json") else str(found)

    def _run_function(self, module: ModuleOp) -> str:
        """What `--run` prints; the results go to the file of `-o` when that is a NumPy file."""
        from .run_nest import print_results, run_module, save_results

        results = run_module(module, self._run_request())
        if self._writes_arrays:
            write_bytes(self._options.output, save_results(results, self._options.output))
            return ""
        return print_results(results)

    def _run_request(self) -> RunRequest:
        from .run_arguments import RunRequest

        options = self._options
        return RunRequest(
            options.entry, options.input_values, options.extents, options.mode or "program", options.seed or 0
        )

    @property
    def _writes_arrays(self) -> bool:
        return self._options.run and self._options.output.endswith((".npy", ".npz"))

    def _check_run_options(self) -> None:
        options = self._options
        if options.run:
            if options.target != "mlir":
                raise UsageError("--run and -t exclude each other: it prints results")
            if options.split_input_file and self._writes_arrays:
                raise UsageError("--split-input-file has several results: a NumPy file takes those of one")
            return
        if _find_target(options.target).runs:
            return
        for name in ("entry", "input_values", "extents", "mode", "seed"):
            if getattr(options, name) not in (None, [], {}):
                option = "input" if name == "input_values" else name
                raise UsageError(f"--{option} goes with --run or -t cuda-sim-report, and neither is there")

    def _emit(self, target: Target, module: ModuleOp) -> str | bytes:
        try:
            return target.emit(module, self._printing)
        except (NestorError, RecursionError):
            raise
        except Exception as error:
            where = f"printing the module (target '{self._options.target}')"
            raise internal_failure(where, error) from error

    def _load(self, chunk: Chunk, name: str, context: Context) -> tuple[ModuleOp, dict[str, dict[str, str]]]:
        """The module of one piece of the input, and its resource block. Other sources of IR go here."""
        if self._options.emit_nt is not None:
            from ...frontend.jit.driver.emit import emit_nt

            with off_standard_output():
                return emit_nt(self._options.emit_nt, self._options.spec), {}
        try:
            return parse_located(chunk.text, name, context, chunk.first_line)
        except NestorError:
            raise
        except Exception as error:
            raise internal_failure(f"the parser, reading {name}", error) from error

    def _run_passes(self, nodes: tuple[Node, ...], module: ModuleOp, context: Context) -> None:
        options = self._options
        instruments = []
        if options.crash_reproducer:
            instruments.append(CrashReproducer(options.crash_reproducer, verify=not options.no_verify))
        if (dumper := IRDumper.from_options(options, self._printing)) is not None:
            instruments.append(dumper)
        if self._diff is not None:
            instruments.append(self._diff)
        instruments.append(self._timer)
        PassManager(context, instruments, verify=not options.no_verify).run(nodes, module)

    def _check_roundtrip(self, module: ModuleOp, context: Context) -> None:
        if not self._options.verify_roundtrip:
            return
        from .roundtrip import check_roundtrip

        with self._timer.phase("Verify roundtrip"):
            check_roundtrip(module, context)

    def _fail(self, error: NestorError, reporter: Reporter | None = None) -> None:
        (reporter or self._reporter).fail(error)
        if self._options.debug:
            import traceback

            traceback.print_exception(error)
        if isinstance(error, InternalFailure):
            self._exit_code = 3
        elif isinstance(error, (UsageError, PipelineError)):
            self._exit_code = 2
        elif not isinstance(reporter, CollectingReporter):
            self._exit_code = self._exit_code or 1


def _chained(failure: NestorError, cause: Exception) -> NestorError:
    failure.__cause__ = cause
    return failure


def _information():
    """What opt-tool tells of itself; it is loaded where it is asked."""
    from . import information

    return information


def _known_dialects(names: list[str], known: list[str]) -> list[str]:
    """`names`, or all that are known where none is given. Raises `UsageError` at one that is not."""
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 1)
            guess = f"did you mean '{close[0]}'? " if close else ""
            raise UsageError(f"no dialect '{name}' here", hint=f"{guess}there are {', '.join(known)}")
    return names or known


def _find_target(name: str) -> Target:
    if name in TARGETS:
        return TARGETS[name]
    close = get_close_matches(name, TARGETS, 1)
    guess = f"did you mean '{close[0]}'? " if close else ""
    raise UsageError(f"unknown target '{name}'", hint=f"{guess}targets: {', '.join(TARGETS)}")


def _is_anchored(elements: tuple[Element, ...]) -> bool:
    return len(elements) == 1 and elements[0].children is not None and elements[0].name in _TOP_ANCHORS


def _unwrap_anchor(elements: tuple[Element, ...]) -> tuple[Element, ...]:
    """The pipeline inside `builtin.module(...)`, which --pass-pipeline must start with, as in mlir-opt."""
    if _is_anchored(elements):
        return elements[0].children or ()
    place = elements[0].place if elements else None
    hint = f"write builtin.module({print_pipeline(elements)}), or use -p"
    raise PipelineError("a pass pipeline starts with its anchor, 'builtin.module(...)'", place, hint=hint)


def _check_pass_name(element: Element) -> None:
    from .resolve import known_names

    if element.name not in known_names() or element.name in named_pipelines():
        raise unknown_pass(element)
