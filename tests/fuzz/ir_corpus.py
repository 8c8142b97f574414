"""Texts to mutate, and what opt-tool is asked to do with them: the FileCheck tests, piece by piece, and their RUN lines."""

from __future__ import annotations

import os
import random
import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ir_mutations import NUMBERS
from nestor.tools.opt_tool.pipeline_syntax import PipelineError, parse_pipeline
from nestor.tools.opt_tool.resolve import resolve
from nestor.tools.opt_tool.source import split_chunks
from nestor.transforms.registry import PASSES

LIT = Path(__file__).resolve().parents[1] / "filecheck"

_RUN = re.compile(r"RUN:[^|\n]*?opt-tool %s([^|\n>]*)")
_OPTION = re.compile(r"((?:=|,)(?=-?\d))-?\d+")
_COMMENT = re.compile(r"^\s*//(?! -----).*\n", re.MULTILINE)
_FAULTY = ("verify-roundtrip-invalid.mlir",)
"""Tests that show a fault of xDSL: `scf.yield` loses its attributes where it is printed."""

_LONGEST = 6000
"""A longer piece takes most of the time of a thousand others."""

_LOWER_NEST_TO_GPU = (
    "nest-schedule-cuda,nest-insert-barriers{known-only=true},convert-nest-to-gpu{explicit-barriers=true},"
    "canonicalize,cse,gpu-plan-memory"
)
TO_THE_END = (
    ("-p", "cpu", "-t", "asm"),
    ("-p", "cpu", "-t", "llvm-ir"),
    ("-p", "cpu-to-llvm", "-t", "asm"),
    ("-p", "nest-schedule-cpu,convert-nest-to-scf,cpu-to-llvm", "-t", "asm"),
    ("-p", "cuda", "-t", "cuda"),
    ("-p", "cuda-small", "-t", "ptx"),
    ("-p", _LOWER_NEST_TO_GPU, "-t", "cuda"),
    ("-p", _LOWER_NEST_TO_GPU, "-t", "ptxas-report"),
    ("-p", "to-nest", "-t", "nest-tree"),
    ("-t", "nest-tree"),
    ("-t", "nest-svg"),
    ("-t", "nt-svg"),
    ("-t", "nt-graph"),
    ("-t", "nest-html"),
    ("-t", "cuda"),
    ("-t", "asm"),
    ("-p", "canonicalize,cse,dce"),
    ("--verify-roundtrip",),
    ("--print-op-generic", "--print-debuginfo"),
)
"""From each level to each target that runs nothing: a program with edits may loop for ever, and does so by right."""

_LEFT_OUT = (
    "--run",
    "--load-pass-plugin",
    "--crash-reproducer",
    "--print-ir-diff",
    "cuda-sim-report",
    "--emit-nt",
    "-o",
    "--timing",
    "--verify-diagnostics",
    "--debug",
    "--no-verify",
)


@dataclass(frozen=True)
class Piece:
    """A piece of a FileCheck test without its comments, and the command lines that the test runs it with."""

    name: str
    text: str
    requests: tuple[tuple[str, ...], ...]


def pieces() -> list[Piece]:
    """All pieces, always in the same order."""
    found = []
    for path in sorted(LIT.rglob("*.mlir")):
        if path.name in _FAULTY:
            continue
        text = path.read_text()
        requests = tuple(_requests(text, path))
        for number, chunk in enumerate(split_chunks(text)):
            bare = _COMMENT.sub("", chunk.text).strip() + "\n"
            if 1 < len(bare) <= _LONGEST:
                found.append(Piece(f"{path.relative_to(LIT)}#{number}", bare, requests))
    return found


def _requests(text: str, path: Path):
    for line in _RUN.findall(text.replace("%S", str(path.parent)).replace("%{", "")):
        try:
            words = shlex.split(line)
        except ValueError:  # a quoted pipe: the line is cut within a word
            continue
        if not any(word.partition("=")[0] in _LEFT_OUT for word in words):
            yield tuple(word for word in words if word not in ("--split-input-file", "2"))


@cache
def passes_without_options() -> list[str]:
    """The passes that need none; the RUN lines have the others."""

    def runs(name: str) -> bool:
        try:
            return bool(resolve(parse_pipeline(name)))
        except PipelineError:
            return False

    return [name for name in PASSES if runs(name)]


def request(generator: random.Random, piece: Piece, corpus: list[Piece]) -> tuple[str, ...]:
    """What opt-tool is to do: what the test itself asks, what another of its folder asks, any pass, or a way to the end."""
    drawn = _request(generator, piece, corpus)
    return drawn if generator.randrange(8) else tuple(_other_number(generator, word) for word in drawn)


def _other_number(generator: random.Random, word: str) -> str:
    return _OPTION.sub(lambda found: found[1] + generator.choice(NUMBERS), word)


def _request(generator: random.Random, piece: Piece, corpus: list[Piece]) -> tuple[str, ...]:
    match generator.randrange(6):
        case 0 | 1 if piece.requests:
            return generator.choice(piece.requests)
        case 2:
            folder = os.path.dirname(piece.name)
            others = [one for one in corpus if one.requests and os.path.dirname(one.name) == folder]
            return generator.choice(generator.choice(others).requests) if others else ()
        case 3:
            return ("-p", generator.choice(passes_without_options()))
        case _:
            return generator.choice(TO_THE_END)
