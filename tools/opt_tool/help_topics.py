"""`--help TOPIC`: the options of one topic, and commands that use them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from textwrap import fill


@dataclass(frozen=True)
class Topic:
    """What a topic is about, the group of options that it shows, and commands with what they do."""

    summary: str
    group: str
    examples: tuple[tuple[str, str], ...]


TOPICS: dict[str, Topic] = {
    "passes": Topic(
        "Passes and named pipelines are separated by commas, options are in braces: name{key=value flag}. "
        "anchor(...) runs a pipeline on each operation of that name.",
        "what to do",
        (
            ("opt-tool nt.mlir -p canonicalize,cse", "two passes"),
            ("opt-tool nest.mlir -p 'nest-split{loop=i factor=16}'", "a pass with options"),
            (
                "opt-tool nt.mlir --pass-pipeline='builtin.module(func.func(cse))'",
                "a pass on each function alone",
            ),
            ("opt-tool nt.mlir -p cpu -t llvm-ir", "a named pipeline, then LLVM IR"),
            ("opt-tool nest.mlir --apply-schedule=rows.mlir", "the steps of a schedule (docs/schedules.md)"),
        ),
    ),
    "targets": Topic(
        "What is printed after the passes.",
        "",
        (
            ("opt-tool nt.mlir -p cpu -t asm --machine=skylake", "assembly for another processor"),
            ("opt-tool nt.mlir -p cpu -t object -o f.o", "an object file for a linker"),
            ("opt-tool nt.mlir -p cuda -t cuda", "CUDA C"),
            ("opt-tool nt.mlir -p cuda -t ptxas-report", "registers, spills and occupancy of each kernel"),
            ("opt-tool nest.mlir -t nest-tree", "loops and statements as a tree"),
        ),
    ),
    "input": Topic(
        "What is read. Bytecode is not: mlir-opt prints it as text.",
        "input",
        (
            ("opt-tool pieces.mlir --split-input-file", "each piece by itself"),
            ("opt-tool other.mlir --allow-unregistered-dialect", "operations that nobody knows"),
        ),
    ),
    "python": Topic(
        "A Python file is executed, and a function of it read; what the file prints goes to standard error.",
        "Python in, instead of IR",
        (
            ("opt-tool --emit-nt prog.py:f --spec 'f32[?,100], int'", "the function f as IR"),
            ("opt-tool --emit-nt prog.py:f --spec 'f32[8,100], int' -p cpu-to-scf", "and lowered"),
        ),
    ),
    "running": Topic(
        "A function at the nest level is run by the reference interpreter, after the passes.",
        "running, instead of printing (or for -t cuda-sim-report)",
        (
            ("opt-tool nest.mlir --run", "inputs are made up, always the same ones"),
            (
                "opt-tool nest.mlir -p 'nest-parallel{loop=i}' --run --mode=shuffled --seed=3",
                "in a random order",
            ),
            ("opt-tool nest.mlir --run -o out.npz", "results into a file"),
        ),
    ),
    "printing": Topic(
        "The IR around passes, and how it is written.",
        "printing (IR dumps go to standard error)",
        (
            ("opt-tool nt.mlir -p cpu --print-ir-after-change -o /dev/null", "what each pass changed"),
            ("opt-tool nt.mlir -p canonicalize,cse --print-ir-before=cse", "the IR before a pass"),
            ("opt-tool nt.mlir -p cpu --print-ir-diff=pages -o /dev/null", "the same as pages"),
            ("opt-tool nt.mlir --print-op-generic", "the generic form"),
        ),
    ),
    "checking": Topic(
        "Whether the IR is right, and whether diagnostics are those that comments expect.",
        "checking",
        (
            ("opt-tool nt.mlir --verify-roundtrip", "print, parse again, compare"),
            ("opt-tool expected.mlir --verify-diagnostics", "diagnostics against expected-error comments"),
        ),
    ),
    "debugging": Topic(
        "When something fails. opt-tool-reduce makes the file small (docs/opt-tool.md).",
        "debugging",
        (
            ("opt-tool nt.mlir -p cpu --crash-reproducer=crash.mlir", "the IR before the pass that fails"),
            ("opt-tool crash.mlir --run-reproducer", "and that pass again"),
            ("opt-tool nt.mlir -p cpu --dump-pass-pipeline", "a named pipeline spelled out"),
        ),
    ),
    "information": Topic(
        "What there is.",
        "information",
        (
            ("opt-tool --list-passes", "passes with their options"),
            ("opt-tool --show-dialects=nest --markdown", "the operations of a dialect as a page"),
            ("opt-tool --show-dialects --irdl -o nestor.irdl", "dialects for mlir-opt --irdl-file"),
            ("opt-tool --completion bash", "a script for the shell's completion"),
        ),
    ),
}
"""The topics, in the order in which `--help` lists them."""


def help_on(topic: str, parser: argparse.ArgumentParser) -> str:
    """The text of `--help TOPIC`."""
    about = TOPICS[topic]
    formatter = parser._get_formatter()
    for group in parser._action_groups:
        if group.title == about.group:
            formatter.start_section("options")
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
    text = formatter.format_help()
    if topic == "targets":
        text += "\n" + _targets()
    width = max(len(command) for command, _ in about.examples)
    lines = [f"  {command:{width}}   {what}" for command, what in about.examples]
    return (
        fill(f"{topic}: {about.summary}", 100)
        + "\n\n"
        + text.lstrip("\n")
        + "\nexamples:\n"
        + "\n".join(lines)
        + "\n"
    )


def _targets() -> str:
    from .targets import TARGETS

    return "".join(f"  -t {name:16} {target.description}\n" for name, target in TARGETS.items())
