"""What compiling costs, pass by pass, in seconds of processor time: `python -m benchmarks.compile_time [PROGRAM ...]`.

    python -m benchmarks.compile_time                       # a line a program
    python -m benchmarks.compile_time transformer-12 -v     # and what each pass takes

Programs are long, deep or repeat themselves. Processor time is of all threads of the process, so that what else runs on the
machine hardly counts. No cache on the disk is read.
"""

from __future__ import annotations

import argparse
import linecache
import time
from collections.abc import Callable
from typing import Any

import nestor as nt
import numpy as np
from nestor import nn
from nestor.dialects.registry import make_context
from nestor.frontend.jit.specialise.stages import passes_of
from nestor.lowering.llvm_ir.emit import emit_llvm_ir
from nestor.runtime.collector import collector_paused
from nestor.transforms.pass_manager import PassManager

Made = tuple[Callable[..., Any], list[Any]]
LEAST = 0.01
"""Passes of fewer seconds are not listed."""


# ---- programs -----------------------------------------------------------------------------------------


def written(text: str) -> Callable[..., Any]:
    """The function `f` of a source text that a program has written."""
    name = f"<benchmark {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), names)
    return names["f"]


def _lines(count: int, *lines: str) -> Made:
    body = "".join(f"    {lines[k % len(lines)].format(1 + k / 1000)}\n" for k in range(count))
    return written(f"def f(x):\n{body}    return x\n"), [nt.spec((1000,), np.float64)]


def _terms(count: int) -> Made:
    terms = " + ".join(f"x * {1 + k / 1000}" for k in range(count))
    return written(f"def f(x):\n    return {terms}\n"), [nt.spec((1000,), np.float64)]


def _table() -> Made:
    return written("def f(x):\n    return x + np.array([1.0, 2.0, 3.0])\n"), [nt.spec((200, 3), np.float64)]


def _layer(x, q, k, v, o, up, a, down, b, g1, s1, g2, s2):
    tokens, width = x.shape
    heads = (tokens, 12, width // 12)
    query, key, value = ((x @ w).reshape(heads).transpose(1, 0, 2) for w in (q, k, v))
    mixed = nn.softmax(query @ key.transpose(0, 2, 1) * 0.125) @ value
    x = nn.layer_norm(x + mixed.transpose(1, 0, 2).reshape(tokens, width) @ o, g1, s1)
    return nn.layer_norm(x + nn.relu(x @ up + a) @ down + b, g2, s2)


def _transformer(x, layers):
    for weights in layers:
        x = _layer(x, *weights)
    return x


def _layers(count: int, width: int = 768, tokens: int = 64) -> Made:
    square, wide = (width, width), (width, 4 * width)
    shapes = [square] * 4 + [wide, wide[1:], wide[::-1], *[(width,)] * 5]
    layers = [tuple(np.zeros(shape, np.float32) for shape in shapes) for _ in range(count)]
    return _transformer, [nt.spec((tokens, width), np.float32), layers]


def _conv(x, w, mean, var, weight, bias, stride=1):
    return nn.batch_norm(nn.conv2d(x, w, stride=stride, padding=w.shape[-1] // 2), mean, var, weight, bias)


def _resnet(x, stem, stages, head, offset):
    x = nn.max_pool(nn.relu(_conv(x, *stem, stride=2)), (3, 3), 2, 1)
    for k, blocks in enumerate(stages):
        for j, (one, two, short) in enumerate(blocks):
            stride = 2 if k > 0 and j == 0 else 1
            y = _conv(nn.relu(_conv(x, *one, stride=stride)), *two)
            x = nn.relu(y + (x if short is None else _conv(x, *short, stride=stride)))
    return x.mean(axis=(2, 3)) @ head + offset


def _resnet18() -> Made:
    def conv(outputs: int, inputs: int, size: int):
        shapes = [(outputs, inputs, size, size), *[(outputs,)] * 4]
        return tuple(np.zeros(shape, np.float32) for shape in shapes)

    stages, inputs = [], 64
    for outputs in (64, 128, 256, 512):
        short = None if outputs == inputs else conv(outputs, inputs, 1)
        first = (conv(outputs, inputs, 3), conv(outputs, outputs, 3), short)
        stages.append([first, (conv(outputs, outputs, 3), conv(outputs, outputs, 3), None)])
        inputs = outputs
    x, head = np.zeros((1, 3, 224, 224), np.float32), np.zeros((512, 1000), np.float32)
    return _resnet, [x, conv(64, 3, 7), stages, head, np.zeros(1000, np.float32)]


def _attention() -> Made:
    def attention(q, k, v):
        return nn.attention(q, k, v)

    return attention, [nt.spec((2, 8, 128, 64), np.float32)] * 3


def _warm(x, y):
    return np.sin(x @ y)


PROGRAMS: dict[str, tuple[Callable[[], Made], str]] = {
    "sines-100": (lambda: _lines(100, "x = np.sin(x) * {} + x"), "cpu"),
    "sines-300": (lambda: _lines(300, "x = np.sin(x) * {} + x"), "cpu"),
    "chain-1000": (lambda: _lines(1000, "x = x * {}", "x = x + {}", "x = np.sqrt(x)"), "cpu"),
    "chain-2000": (lambda: _lines(2000, "x = x * {}", "x = x + {}", "x = np.sqrt(x)"), "cpu"),
    "terms-900": (lambda: _terms(900), "cpu"),
    "table": (_table, "cpu"),
    "transformer-1": (lambda: _layers(1), "cpu"),
    "transformer-12": (lambda: _layers(12), "cpu"),
    "resnet-18": (_resnet18, "cpu"),
    "attention-cuda": (_attention, "cuda"),
    "transformer-1-cuda": (lambda: _layers(1), "cuda"),
    "transformer-12-cuda": (lambda: _layers(12), "cuda"),
}


# ---- measuring ----------------------------------------------------------------------------------------


class Stopwatch:
    """Seconds and operations of each pass, in order; an instrument of the pass manager."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, int]] = []
        self._start = 0.0

    def before_pass(self, element: Any, op: Any) -> None:
        self._start = time.process_time()

    def after_pass(self, element: Any, op: Any) -> None:
        self.rows.append((element.name, time.process_time() - self._start, sum(1 for _ in op.walk())))

    def pass_failed(self, element: Any, op: Any) -> None:
        pass

    def step(self, name: str, function: Callable[[], Any]) -> Any:
        """Call what is no pass."""
        start = time.process_time()
        result = function()
        self.rows.append((name, time.process_time() - start, 0))
        return result


def measure(name: str) -> list[tuple[str, float, int]]:
    """Name, seconds and operations afterwards of each step of compiling a program."""
    make, target = PROGRAMS[name]
    function, arguments = make()
    watch = Stopwatch()
    module = watch.step("frontend", lambda: nt.jit(function).lower(*arguments)).program.module
    with collector_paused():
        manager = PassManager(make_context(), [watch], verify=False)
        manager.run(passes_of(module, ("cuda-small" if target == "cuda" else "cpu",)), module)
        if target == "cuda":
            from nestor.lowering.cuda_c.emit import emit_cuda

            watch.step("CUDA C", lambda: emit_cuda(module))
        else:
            from nestor.runtime.cpu.engine import compile_llvm_ir

            text = watch.step("LLVM IR", lambda: emit_llvm_ir(module))
            watch.step("machine code", lambda: compile_llvm_ir(text))
    return watch.rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("-v", "--passes", action="store_true", help="what each pass takes")
    chosen = parser.parse_args()
    if unknown := set(chosen.programs) - set(PROGRAMS):
        parser.error(f"no program {', '.join(sorted(unknown))}")
    for target in ("cpu", "cuda"):  # what is loaded on first use
        nt.jit(_warm).lower(*[nt.spec((9, 9), np.float64)] * 2).as_text("asm" if target == "cpu" else "cuda")
    for name in chosen.programs or PROGRAMS:
        rows = measure(name)
        print(f"{name:22} {sum(seconds for _, seconds, _ in rows):6.2f} s", flush=True)
        for step, seconds, operations in rows if chosen.passes else ():
            if seconds >= LEAST:
                print(f"  {step:28} {seconds:6.2f} s  {operations or ''}")


if __name__ == "__main__":
    main()
