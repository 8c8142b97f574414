"""The peers: `PEERS[name](threads)` imports one, `prepare(row, arguments)` compiles its forms of a row's program.

What `Row.peers` holds for each of them:

- numexpr: an expression of the parameters' names and of `tiny`, 1e-5 (numbers written out would make it float64), into a
  reused output;
- numba: `make(numba)`, a function that writes its results into the arrays that come first. A function of scalar results
  returns them; `numba-fresh`: the form that allocates, where numba does that best itself;
- jax: `make(jax, jax.numpy)`, a function that is given to `jax.jit`;
- torch: `make(torch)`, a function of tensors, run eagerly and by `torch.compile`; `torch-out`: the same into tensors that
  come first, for the eager form; `torch-loss`: a loss, of which value and gradients are wanted;
- onnxruntime: the nodes of a graph in ONNX's text form, from the parameters' names to `r0`, `r1` ...; or a function of
  the extents that gives them;
- halide: `make(halide, extents, *buffers)`, a list of scheduled functions of outputs. Halide's first
  dimension is NumPy's last.

NumPy and Nestor run `Row.program`. Forms that reuse their outputs hand back the same arrays at each call.
"""

from __future__ import annotations

import functools
import importlib
import re
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from .yardstick.row import Row, as_list

LARGE = 1 << 20
"""Results of this many bytes are worth a form that reuses them: fresh pages cost more than most kernels."""


@dataclass(frozen=True)
class Form:
    """One way of running a program: `function(*arguments)`, and `results(what it returned)` as NumPy arrays."""

    function: Callable[..., Any]
    arguments: Sequence[Any] = ()
    results: Callable[[Any], list[np.ndarray]] = as_list

    def call(self) -> Any:
        return self.function(*self.arguments)

    def timer(self) -> timeit.Timer:
        """Times calls with the arguments written out, so that nothing but the call is timed."""
        names = [f"a{k}" for k in range(len(self.arguments))]
        values = dict(zip(names, self.arguments, strict=True))
        return timeit.Timer(f"f({', '.join(names)})", globals={"f": self.function, **values})


class NotWritten(Exception):
    """The row has no program for this peer."""


def _program(row: Row, peer: str) -> Any:
    if peer not in row.peers:
        raise NotWritten
    return row.peers[peer]


def _outputs(row: Row, small: bool) -> list[np.ndarray]:
    return [np.zeros(shape, dtype) for shape, dtype in row.results(row.extents(small))]


class Peer:
    """`package` is what is installed for it; `name` what its forms start with."""

    name = package = ""

    modules: tuple[str, ...] = ()

    def __init__(self, threads: int):
        self.threads = threads

    def load(self) -> None:
        """Import it."""
        for module in self.modules:
            importlib.import_module(module)

    def prepare(self, row: Row, arguments: Sequence[np.ndarray], small: bool) -> dict[str, Form]:
        """Its forms, by name. Raises NotWritten, or whatever the peer raises."""
        raise NotImplementedError

    def version(self) -> str | None:
        """None where it is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


class Nestor(Peer):
    name = package = "nestor"
    modules = ("nestor",)

    def prepare(self, row, arguments, small):
        import nestor as nt

        forms = {"nestor": nt.jit(row.program), "nestor fastmath": nt.jit(row.program, fastmath=True)}
        return {name: Form(f, arguments) for name, f in forms.items()}


class NumPy(Peer):
    name = package = "numpy"

    def prepare(self, row, arguments, small):
        if not row.by_numpy:
            raise NotWritten
        return {"numpy": Form(row.program, arguments)}


class NumExpr(Peer):
    name = package = "numexpr"
    modules = ("numexpr",)

    def prepare(self, row, arguments, small):
        import numexpr

        expression = _program(row, "numexpr")
        numexpr.set_num_threads(self.threads)
        known = dict(zip(row.parameters(), arguments, strict=False)) | {"tiny": np.float32(1e-5)}
        known = {name: value for name, value in known.items() if re.search(rf"\b{name}\b", expression)}
        compiled = numexpr.NumExpr(expression, [(name, float) for name in known])  # its float is float32
        operands = [known[name] for name in compiled.input_names]
        (out,) = _outputs(row, small)
        function = functools.partial(compiled, out=out, order="K", casting="same_kind", ex_uses_vml=False)
        return {"numexpr, reused output": Form(function, operands)}


class Numba(Peer):
    name = package = "numba"
    modules = ("numba",)

    def prepare(self, row, arguments, small):
        import numba

        kernel = _program(row, "numba")(numba)
        numba.set_num_threads(self.threads)
        outputs = _outputs(row, small)
        if all(out.ndim == 0 for out in outputs):
            return {"numba": Form(kernel, arguments)}

        def fresh(*arguments):
            results = [np.empty(out.shape, out.dtype) for out in outputs]
            kernel(*results, *arguments)
            return results

        def reused(*arguments):
            kernel(*outputs, *arguments)
            return outputs

        if "numba-fresh" in row.peers:
            fresh = row.peers["numba-fresh"](numba)
        return {"numba": Form(fresh, arguments), "numba, reused output": Form(reused, arguments)}


class Jax(Peer):
    name = package = "jax"
    modules = ("jax", "jax.numpy")

    def prepare(self, row, arguments, small):
        make = _program(row, "jax")
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_cpu_enable_async_dispatch", False)
        function = jax.jit(make(jax, jnp))
        placed = [jax.device_put(a) for a in arguments]
        return {"jax": Form(lambda *args: jax.block_until_ready(function(*args)), placed)}


def _tensors(arguments: Sequence[np.ndarray]) -> list[Any]:
    import torch

    return [torch.from_numpy(a) for a in arguments]


def _from_torch(results: Any) -> list[np.ndarray]:
    results = results if isinstance(results, tuple | list) else (results,)
    return [r.detach().numpy() for r in results]


def _differentiated(loss: Callable[..., Any], torch: Any) -> Callable[..., Any]:
    """The value of a loss and its gradients by all tensors."""

    def both(*tensors):
        leaves = [t.detach().requires_grad_() for t in tensors]
        with torch.enable_grad():
            value = loss(*leaves)
            return [value, *torch.autograd.grad(value, leaves)]

    return both


class Torch(Peer):
    name = package = "torch"
    modules = ("torch",)

    def prepare(self, row, arguments, small):
        if "torch-loss" in row.peers:
            import torch

            torch.set_num_threads(self.threads)
            both = _differentiated(row.peers["torch-loss"](torch), torch)
            return {"torch": Form(both, _tensors(arguments), _from_torch)}
        make = _program(row, "torch")
        import torch

        torch.set_num_threads(self.threads)
        torch.set_grad_enabled(False)
        tensors, function = _tensors(arguments), make(torch)
        forms = {"torch": Form(function, tensors, _from_torch)}
        if "torch-out" in row.peers:
            into, outputs = row.peers["torch-out"](torch), _tensors(_outputs(row, small))

            def reused():
                into(*outputs, *tensors)
                return outputs

            forms["torch, reused output"] = Form(reused, results=_from_torch)
        return forms


class TorchCompile(Peer):
    """Results of a megabyte or more are written into reused tensors, where a copy into them is fused."""

    name, package = "torch.compile", "torch"
    modules = ("torch", "torch._dynamo", "torch._inductor.compile_fx")

    def prepare(self, row, arguments, small):
        if "torch-loss" in row.peers:
            import torch

            torch.set_num_threads(self.threads)
            torch._dynamo.reset()
            loss = torch.compile(row.peers["torch-loss"](torch), dynamic=False)
            return {"torch.compile": Form(_differentiated(loss, torch), _tensors(arguments), _from_torch)}
        make = _program(row, "torch")
        import torch

        torch.set_num_threads(self.threads)
        torch.set_grad_enabled(False)
        torch._dynamo.reset()
        tensors, function = _tensors(arguments), make(torch)
        outputs = _tensors(_outputs(row, small))
        if sum(out.nbytes for out in outputs) < LARGE:
            return {"torch.compile": Form(torch.compile(function, dynamic=False), tensors, _from_torch)}

        def into(outputs, *tensors):
            results = function(*tensors)
            for out, result in zip(
                outputs, results if isinstance(results, tuple) else (results,), strict=True
            ):
                out.copy_(result)

        compiled_into = torch.compile(into, dynamic=False)

        def reused():
            compiled_into(outputs, *tensors)
            return outputs

        return {"torch.compile, reused output": Form(reused, results=_from_torch)}


ONNX_TYPES = {"float32": "float", "float64": "double", "int64": "int64"}
ONNX_VERSIONS = '<ir_version: 10, opset_import: ["": 20]>'


def onnx_text(row: Row, arguments: Sequence[np.ndarray], small: bool) -> str:
    """The graph of a row as ONNX's text form."""

    def declared(names: Sequence[str], arrays: Sequence[np.ndarray]) -> str:
        types = (f"{ONNX_TYPES[a.dtype.name]}[{','.join(map(str, a.shape))}]" for a in arrays)
        return ", ".join(f"{t} {n}" for t, n in zip(types, names, strict=True))

    outputs, nodes = _outputs(row, small), _program(row, "onnxruntime")
    if callable(nodes):
        nodes = nodes(row.extents(small))
    ins = declared(row.parameters()[: len(arguments)], arguments)
    outs = declared([f"r{k}" for k in range(len(outputs))], outputs)
    return f"{ONNX_VERSIONS} program ({ins}) => ({outs}) {{ {nodes} }}"


class OnnxRuntime(Peer):
    """Its inputs and outputs are bound once."""

    name = package = "onnxruntime"
    modules = ("onnx.parser", "onnxruntime")

    def prepare(self, row, arguments, small):
        _program(row, "onnxruntime")
        import onnx.parser
        import onnxruntime

        model = onnx.parser.parse_model(onnx_text(row, arguments, small))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        binding = session.io_binding()
        outputs = _outputs(row, small)
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(out) for out in outputs]
        needed = {i.name for i in session.get_inputs()}
        for name, array in zip(row.parameters(), arguments, strict=False):
            if name in needed:
                binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
        for k, value in enumerate(values):
            binding.bind_ortvalue_output(f"r{k}", value)
        return {
            "onnxruntime": Form(
                session.run_with_iobinding, [binding], lambda _: [value.numpy() for value in values]
            )
        }


class Halide(Peer):
    name = package = "halide"
    modules = ("halide",)

    def prepare(self, row, arguments, small):
        make = _program(row, "halide")
        import halide as hl

        functions = make(hl, row.extents(small), *[hl.Buffer(a) for a in arguments])
        pipeline = hl.Pipeline(functions)
        outputs = _outputs(row, small)
        target = hl.get_jit_target_from_environment()
        pipeline.compile_jit(target)
        buffers = [hl.Buffer(out) for out in outputs]

        def call():
            pipeline.realize(buffers if len(buffers) > 1 else buffers[0], target)
            return outputs

        return {"halide": Form(call)}


PEERS: dict[str, type[Peer]] = {
    cls.name: cls for cls in (Nestor, NumPy, NumExpr, Numba, Jax, Torch, TorchCompile, OnnxRuntime, Halide)
}


def environment(threads: int | None) -> dict[str, str]:
    """What a peer's process is started with: its threads (none: its own choice), and an allocator that keeps freed pages."""
    names = [f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR", "HL")]
    kept = {"MALLOC_MMAP_THRESHOLD_": str(1 << 25), "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
    count = {name: str(threads) for name in [*names, "NUMEXPR_MAX_THREADS"]} if threads is not None else {}
    return count | kept
