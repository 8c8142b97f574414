"""What `tools/new.py` writes: the texts of new files and rows, with `$name` and the like in place of names."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts of one kind: files by their paths, and rows and functions for files that are there, by what they are."""

    files: dict[str, str]
    parts: dict[str, str]

    def named(self, **words: str) -> Texts:
        """The same with the words put in."""
        files = {_filled(path, words): _filled(text, words) for path, text in self.files.items()}
        return Texts(files, {key: _filled(text, words) for key, text in self.parts.items()})

    def __getitem__(self, part: str) -> str:
        return self.parts[part]


def _filled(text: str, words: dict[str, str]) -> str:
    return Template(text).substitute(words)


PRIMITIVE = Texts(
    files={
        "transforms/nest/$room/$name.py": '''"""nest-$dashed: FILL IN what becomes of the loop.

    nest.for "i" %i = 0 to %n {
      FILL IN the loop before
    }

becomes

    nest.for "i" %i = 0 to %n {
      FILL IN the loop after
    }

FILL IN when it is refused, and what it is called in Halide, TVM, Exo and NNC.
"""

from __future__ import annotations

from ....analysis.nest.kernels.loop_marks import refuse_marked
from ....dialects.diagnostic import NestorError
from ....dialects.nest import ForOp


def why_not_$name(loop: ForOp) -> NestorError | None:
    """The diagnostic that refuses to $name `loop`, None when it is legal."""
    return refuse_marked(loop, "$name")  # FILL IN what else forbids it


def $name(loop: ForOp) -> ForOp:
    """FILL IN what is done to `loop`; the loop. Raises the diagnostic of `why_not_$name`."""
    if (refusal := why_not_$name(loop)) is not None:
        raise refusal
    return loop  # FILL IN the rewrite
''',
        "tests/filecheck/transforms/nest/$room/nest-$dashed.mlir": """\
// FILL IN what this shows, in a sentence.
// RUN: opt-tool %s -p 'nest-$dashed{loop=i}' | filecheck %s

// CHECK-LABEL: @symbolic
// CHECK: nest.for "i" {{.*}} = 1 to %n
func.func @symbolic(%n: index, %x: f32, %y: memref<?xf32>) {
  nest.for "i" %i = 1 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}
""",
        "tests/filecheck/transforms/nest/$room/nest-$dashed-invalid.mlir": """\
// Loops that nest-$dashed refuses, and why. FILL IN a case for each reason.
// RUN: opt-tool %s -p 'nest-$dashed{loop=i}' --split-input-file --verify-diagnostics

func.func @marked(%x: f32, %y: memref<32xf32>) {
  // expected-error @below {{cannot $name the loop "i": it is vectorized already}}
  nest.for "i" %i = 0 to 32 vectorized(32) {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  func.return
}
""",
    },
    parts={
        "row": """_primitive(
            "$name",
            "FILL IN what it does, in one sentence.",
            _loop(),  # FILL IN other targets, options and results
        )""",
        "drawn": '"$name": Primitive(of_loop("$name"))',
    },
)

PASS = Texts(
    files={
        "$folder/$module.py": '''"""$name: FILL IN what becomes of the function.

    FILL IN IR before
  becomes
    FILL IN IR after

FILL IN what is left as it is, and why.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass


@dataclass(frozen=True, eq=False)
class $class_name(ModulePass):
    """FILL IN what it does, in one sentence."""

    name = "$name"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                $function(function)


def $function(function: FuncOp) -> None:
    """FILL IN what is done to the function; `raise fail(op, "what", hint="way out")` where it cannot be."""
''',
        "tests/filecheck/$folder/$name.mlir": """\
// FILL IN what this shows, in a sentence.
// RUN: opt-tool %s -p $name | filecheck %s

// CHECK-LABEL: @plain
// CHECK-NEXT: func.return
func.func @plain() {
  func.return
}
""",
        "tests/filecheck/$folder/$name-invalid.mlir": """\
// What $name refuses, and why. FILL IN a case for each reason, or delete this file where there is none.
// RUN: opt-tool %s -p $name --split-input-file --verify-diagnostics

func.func @nothing() {
  func.return
}
""",
    },
    parts={"row": '"$name": "$place.$module:$class_name"'},
)

_REFERENCE = '''def $name($arguments: Any) -> Any:
    """FILL IN what it computes, elementwise."""
    return _elementwise(lambda $names: $first, $names)  # FILL IN, of Python floats
'''

_PROGRAM = '''"""FILL IN: what is special about `nt.nn.$name`; against NumPy, on each target."""

import numpy as np
import pytest
from agreement import agrees
from nestor import nn

TOLERANCE = {"f2": 2e-3, "f4": 1e-6, "f8": 1e-15}


def $name($names):
    return nn.$name($names)


@pytest.mark.parametrize("target", ["cpu", "cuda-sim", "interp"])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_values(target, dtype):
    x = np.array([0.0, -0.0, 0.5, -1.0, 3.0, np.inf, -np.inf, np.nan], dtype)  # FILL IN where it may go wrong
    agrees($name, $operands, tolerance=TOLERANCE[dtype], target=target)
'''

OPERATION = Texts(
    files={"tests/programs/test_$name.py": _PROGRAM},
    parts={
        "dialects/special.py": _REFERENCE,
        "dialects/nt/expand_float.py": '''@in_single
def $name(e: Emitter, $values) -> SSAValue:
    """FILL IN how it is computed."""
    return _multiply(e, $first, e.const(1.0, $first.type))  # FILL IN, of scalars of arith and math
''',
        "row": 'Elementwise("$name", $arity, "$name", {"f": xf.$name}, ulp=2.0, reference=special.$name)',
    },
)

TRANSCENDENTAL = Texts(
    files={
        "lowering/math/$name.py": '''"""The expansion of $name."""

from __future__ import annotations

from xdsl.ir import SSAValue

from .builder import FormBuilder


def $name(b: FormBuilder, $values) -> SSAValue:
    """FILL IN how it is computed."""
    return b.mul($first, 1.0)  # FILL IN
''',
        "tests/filecheck/lowering/math/expand-math-$dashed.mlir": """\
// FILL IN what this shows, in a sentence.
// RUN: opt-tool %s -p expand-math | filecheck %s

// CHECK-LABEL: func.func @vector
// CHECK-NOT: special.$name
// CHECK: arith.mulf {{.*}} : vector<8xf32>
func.func @vector(%x: vector<8xf32>, %y: vector<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %r = special.$name $registers : vector<8xf32>
  vector.store %r, %out[%c0] : memref<8xf32>, vector<8xf32>
  func.return
}
""",
        "tests/programs/test_$name.py": _PROGRAM,
    },
    parts={
        "dialects/special.py": _REFERENCE,
        "row": 'Function("$name", "FILL IN what it is.", special.$name, ulp=2.0, arity=$arity)',
    },
)
