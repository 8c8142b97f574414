"""nest-schedule-cuda: scheduled nests compute the same in the CUDA simulator and in the interpreter, out of order."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest
from nestor.dialects.diagnostic import NestorError
from nestor.dialects.nest import BIND_AXES, ForOp
from nestor.dialects.registry import make_context
from nestor.dialects.remarks import listening
from nestor.dialects.verifier import verify
from nestor.lowering.nest_to_gpu.convert import ConvertNestToGpuPass
from nestor.runtime.cuda.host_program import ErrorRecord
from nestor.runtime.cuda_sim.engine import SimEngine
from nestor.runtime.interp.run import run_nest
from nestor.transforms.nest.mapping.insert_barriers import NestInsertBarriersPass
from nestor.transforms.schedulers.cuda.grid import grid_axes, row_width, tile_width
from nestor.transforms.schedulers.cuda.schedule_cuda import NestScheduleCudaPass
from parsed import parse_module


@dataclass(frozen=True)
class Nest:
    """A function body over `arguments` (name: shape of f32; the last is written), and the axes expected to be bound."""

    arguments: dict[str, tuple[int, ...]]
    body: str
    bound: str
    dynamic: bool = True

    def text(self) -> str:
        types = {
            name: f"memref<{''.join('?x' if self.dynamic else f'{n}x' for n in shape)}f32>"
            for name, shape in self.arguments.items()
        }
        dims = {
            name: ", ".join(f'"d{n}"' if self.dynamic else str(n) for n in shape)
            for name, shape in self.arguments.items()
        }
        arguments = ", ".join(f"%{name}: {types[name]} {{nest.dims = [{dims[name]}]}}" for name in types)
        lines = [f"%c{k} = arith.constant {k} : index" for k in range(4)]
        for extent in dict.fromkeys(n for shape in self.arguments.values() for n in shape):
            name, axis = next((a, s.index(extent)) for a, s in self.arguments.items() if extent in s)
            lines.append(f"%n{extent} = memref.dim %{name}, %c{axis} : {types[name]}")
        body = self.body if self.dynamic else re.sub(r"%n(?=\d)", "", self.body)
        for name, type_ in types.items():
            body = body.replace(f": {name}\n", f": {type_}\n")
        return f"func.func @f({arguments}) {{\n" + "\n".join(lines) + body + "func.return\n}"

    def fresh(self) -> list[np.ndarray]:
        rng = np.random.default_rng(3)
        return [np.array(rng.standard_normal(shape), np.float32) for shape in self.arguments.values()]


POINTWISE = """
  nest.for "i" %i = 0 to %n7 {
    nest.for "j" %j = 0 to %n13 {
      %a = nest.load %x[%i, %j] : x
      %b = arith.mulf %a, %a : f32
      nest.store "y" %b, %y[%i, %j] : y
    }
  }
"""

TRANSPOSE = """
  nest.for "i" %i = 0 to %n45 {
    nest.for "j" %j = 0 to %n37 {
      %a = nest.load %x[%j, %i] : x
      nest.store "y" %a, %y[%i, %j] : y
    }
  }
"""

BIAS = """
  nest.for "i" %i = 0 to %n3 {
    nest.for "j" %j = 0 to %n5 {
      nest.for "k" %k = 0 to %n41 {
        %a = nest.load %x[%i, %j, %k] : x
        %b = nest.load %v[%k] : v
        %c = arith.addf %a, %b : f32
        nest.store "y" %c, %y[%i, %j, %k] : y
      }
    }
  }
"""

PERMUTE = """
  nest.for "i" %i = 0 to %n3 {
    nest.for "j" %j = 0 to %n5 {
      nest.for "k" %k = 0 to %n2 {
        nest.for "l" %l = 0 to %n9 {
          %a = nest.load %x[%l, %k, %j, %i] : x
          nest.store "y" %a, %y[%i, %j, %k, %l] : y
        }
      }
    }
  }
"""

ROWS = """
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to %n33 {
    nest.store "s" %zero, %s[%i] : s
    nest.for "j" %j = 0 to %n19 {
      %a = nest.load %x[%i, %j] : x
      nest.accumulate "s" add %a, %s[%i] : s
    }
  }
  nest.for "k" %k = 0 to %n33 {
    %t = nest.load %s[%k] : s
    nest.for "l" %l = 0 to %n19 {
      %a = nest.load %x[%k, %l] : x
      %q = arith.subf %a, %t : f32
      nest.store "y" %q, %y[%k, %l] : y
    }
  }
"""

OVERWRITTEN_SCALE = """
  nest.for "k" %k = 0 to %n33 {
    %t = nest.load %y[%k, 0] : y
    nest.for "l" %l = 0 to %n19 {
      %a = nest.load %y[%k, %l] : y
      %q = arith.subf %a, %t : f32
      nest.store "y" %q, %y[%k, %l] : y
    }
  }
"""

COLUMNS = """
  nest.for "i" %i = 0 to %n19 {
    nest.for "j" %j = 0 to %n37 {
      %a = nest.load %x[%i, %j] : x
      nest.accumulate "y" add %a, %y[%j] : y
    }
  }
"""

MATMUL = """
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to %n7 {
    nest.for "j" %j = 0 to %n37 {
      nest.store "y" %zero, %y[%i, %j] : y
      nest.for "k" %k = 0 to %n5 {
        %a = nest.load %x[%i, %k] : x
        %b = nest.load %w[%k, %j] : w
        %c = arith.mulf %a, %b : f32
        nest.accumulate "y" add %c, %y[%i, %j] : y
      }
    }
  }
"""

JACOBI = """
  nest.for "t" %t = 0 to 3 {
    nest.for "i" %i = 1 to %n37 - 1 {
      %l = nest.load %y[%i - 1] : y
      %r = nest.load %y[%i + 1] : y
      %s = arith.addf %l, %r : f32
      nest.store "x" %s, %x[%i] : x
    }
    nest.for "k" %k = 1 to %n37 - 1 {
      %v = nest.load %x[%k] : x
      nest.store "y" %v, %y[%k] : y
    }
  }
"""

NORMALISED = """
  %zero = arith.constant 0.0 : f32
  nest.for "t" %t = 0 to 3 {
    %top = nest.alloc "top"(%n5) : memref<?xf32>
    nest.store "top" %zero, %top[0] : memref<?xf32>
    nest.for "i" %i = 0 to 37 {
      %a = nest.load %y[%i] : y
      nest.accumulate "top" maximum %a, %top[0] : memref<?xf32>
    }
    nest.for "k" %k = 0 to 37 {
      %a = nest.load %y[%k] : y
      %m = nest.load %top[0] : memref<?xf32>
      %v = arith.subf %m, %a : f32
      nest.store "y" %v, %y[%k] : y
    }
  }
"""

TRIANGULAR = """
  nest.for "k" %k = 0 to %n19 {
    nest.for "i" %i = %k + 1 to %n19 {
      nest.for "j" %j = %k + 1 to %n19 {
        %a = nest.load %y[%i, %k] : y
        %b = nest.load %y[%k, %j] : y
        %c = arith.mulf %a, %b : f32
        nest.accumulate "y" add %c, %y[%i, %j] : y
      }
    }
  }
"""

LOWER_HALF = """
  nest.for "i" %i = 0 to %n37 {
    nest.for "j" %j = 0 to %i + 1 {
      %a = nest.load %x[%i, %j] : x
      nest.store "y" %a, %y[%i, %j] : y
    }
  }
"""

LARGEST = """
  nest.for "i" %i = 0 to %n37 {
    nest.for "j" %j = 0 to %n45 {
      %a = nest.load %x[%j, %i] : x
      nest.store "z" %a, %z[%i, %j] : z
    }
  }
  nest.for "k" %k = 0 to %n37 {
    nest.for "l" %l = 0 to %n45 {
      %a = nest.load %z[%k, %l] : z
      nest.accumulate "y" maximum %a, %y[] : y
    }
  }
"""

LARGEST_TRANSPOSED = """
  nest.for "i" %i = 0 to %n37 {
    nest.for "j" %j = 0 to %n45 {
      %a = nest.load %x[%j, %i] : x
      nest.accumulate "y" maximum %a, %y[] : y
    }
  }
"""

GAUSS_SEIDEL = """
  nest.for "i" %i = 1 to %n7 {
    nest.for "j" %j = 1 to %n13 {
      %a = nest.load %y[%i - 1, %j] : y
      %b = nest.load %y[%i, %j - 1] : y
      %c = arith.addf %a, %b : f32
      nest.store "y" %c, %y[%i, %j] : y
    }
  }
"""

BRANCH = """
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to %n37 {
    %a = nest.load %x[%i] : x
    %c = arith.cmpf olt, %a, %zero : f32
    nest.if %c {
      nest.store "y" %zero, %y[%i] : y
    } else {
      nest.store "y" %a, %y[%i] : y
    }
  }
"""

NESTS = {
    "pointwise": Nest({"x": (7, 13), "y": (7, 13)}, POINTWISE, "block.x thread.x"),
    "transpose": Nest(
        {"x": (37, 45), "y": (45, 37)}, TRANSPOSE, "block.x block.y thread.y thread.x thread.y thread.x"
    ),
    "transpose-static": Nest(
        {"x": (37, 45), "y": (45, 37)},
        TRANSPOSE,
        "block.y block.x thread.y thread.x thread.y thread.x",
        dynamic=False,
    ),
    "bias": Nest({"x": (3, 5, 41), "v": (41,), "y": (3, 5, 41)}, BIAS, "block.x block.y thread.y thread.x"),
    "permute": Nest(
        {"x": (9, 2, 5, 3), "y": (3, 5, 2, 9)},
        PERMUTE,
        "block.z block.y block.x thread.y thread.x",
        dynamic=False,
    ),
    "rows": Nest(
        {"x": (33, 19), "s": (33,), "y": (33, 19)},
        ROWS,
        "block.x thread.x lane block.x block.y thread.y thread.x",
    ),
    "overwritten-scale": Nest({"y": (33, 19)}, OVERWRITTEN_SCALE, "block.x thread.x"),
    "columns": Nest(
        {"x": (19, 37), "y": (37,)}, COLUMNS, "block.x thread.x thread.y thread.x thread.x thread.x"
    ),
    "matmul": Nest({"x": (7, 5), "w": (5, 37), "y": (7, 37)}, MATMUL, "block.x block.y thread.y thread.x"),
    "jacobi": Nest({"x": (37,), "y": (37,)}, JACOBI, "block.x thread.x block.x thread.x"),
    "normalised": Nest({"x": (5,), "y": (37,)}, NORMALISED, "block.x thread.x lane block.x thread.x"),
    "normalised-long": Nest(
        {"x": (5,), "y": (370,)},
        NORMALISED.replace("to 37", "to 370"),
        "block.x thread.x lane block.x thread.x",
    ),
    "triangular": Nest({"y": (19, 19)}, TRIANGULAR, "block.x block.y thread.y thread.x"),
    "lower-half": Nest({"x": (37, 37), "y": (37, 37)}, LOWER_HALF, "block.x thread.x"),
    "largest": Nest(
        {"x": (45, 37), "z": (37, 45), "y": ()},
        LARGEST,
        "block.y block.x thread.y thread.x thread.y thread.x block.x thread.x lane",
        dynamic=False,
    ),
    "largest-transposed": Nest(
        {"x": (45, 37), "y": ()}, LARGEST_TRANSPOSED, "block.x thread.x lane", dynamic=False
    ),
    "gauss-seidel": Nest({"y": (7, 13)}, GAUSS_SEIDEL, "block.x thread.x"),
    "branch": Nest({"x": (37,), "y": (37,)}, BRANCH, "block.x thread.x"),
}


def scheduled(nest: Nest, block: int = 64):
    """The module of the nest, scheduled and verified; the remarks."""
    module = parse_module(nest.text())
    remarks = []
    with listening(remarks.append):
        NestScheduleCudaPass(block=block).apply(make_context(), module)
    verify(module)
    return module, remarks


@pytest.mark.parametrize("name", NESTS)
def test_scheduled_nests_compute_the_same(name: str):
    nest = NESTS[name]
    module, remarks = scheduled(nest)
    loops = [op for op in module.walk() if isinstance(op, ForOp)]
    assert " ".join(loop.kind for loop in loops if loop.kind in BIND_AXES) == nest.bound
    assert (not nest.bound) == any("one GPU thread" in remark.message for remark in remarks)

    expected = nest.fresh()
    run_nest(next(iter(parse_module(nest.text()).ops)), expected)
    shuffled = nest.fresh()
    run_nest(next(iter(module.ops)), shuffled, mode="shuffled", seed=5)
    np.testing.assert_allclose(shuffled[-1], expected[-1], rtol=1e-5, atol=1e-5)  # sums in another order

    NestInsertBarriersPass(known_only=True).apply(make_context(), module)
    ConvertNestToGpuPass(explicit_barriers=True).apply(make_context(), module)
    simulated = nest.fresh()
    assert SimEngine(module)(*simulated) == ErrorRecord()
    if name in ("matmul", "triangular"):  # sums of products are fused multiply-adds
        return np.testing.assert_allclose(simulated[-1], expected[-1], rtol=1e-4, atol=1e-5, equal_nan=True)
    np.testing.assert_allclose(simulated[-1], expected[-1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("block", [0, 1025])
def test_block_sizes_that_no_gpu_has_are_refused(block: int):
    with pytest.raises(NestorError, match="from 1 to 1024 threads"):
        scheduled(NESTS["pointwise"], block)


@pytest.mark.parametrize("extent", [1, 2, 3, 31, 32, 33, 100, 255, 256, 257, 1000, None])
@pytest.mark.parametrize("block", [1, 96, 256, 1024])
def test_tiles_divide_the_block_and_waste_little(extent: int | None, block: int):
    for width in (tile_width(extent, block), row_width(extent, block)):
        assert block % width == 0
        assert extent is None or width < 2 * extent or width % 2
    width = tile_width(extent, block)
    if extent is not None and width > 32 and width % 2 == 0:
        assert 4 * extent >= 3 * -(-extent // width) * width


def test_only_x_of_a_grid_takes_more_than_65535_blocks():
    assert grid_axes([40]) == ["block.x"]
    assert grid_axes([40, 4]) == ["block.y", "block.x"]
    assert grid_axes([5, 40, 4]) == ["block.z", "block.y", "block.x"]
    assert grid_axes([70_000, 4]) == ["block.x", "block.y"]
    assert grid_axes([None, 70_000]) == ["block.y", "block.x"]
    assert grid_axes([5, None, 4]) == ["block.z", "block.x", "block.y"]
    assert grid_axes([70_000, 70_000]) is None
