"""`python -m benchmarks.quantised`: products and a small net with integers of 8 bits, against float32 and onnxruntime.

All run in turn in one process, on one thread; a figure is the median over rounds of the time in the same round, in 10^9
operations a second for products, in microseconds for the net. The table goes to benchmarks/results/quantised.md.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import nestor as nt
import numpy as np

SIZES = (256, 512, 1024)
ROUNDS = 9
RESULTS = Path(__file__).parent / "results" / "quantised.md"


def medians(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The median time of each call, all in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for k in range(ROUNDS + 2):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if k > 1:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def onnx_product(a: np.ndarray, b: np.ndarray) -> Callable[[], object] | None:
    """onnxruntime's MatMulInteger; None where it is not installed."""
    try:
        import onnxruntime
        from onnx import TensorProto, helper
    except ImportError:
        return None
    types = [helper.np_dtype_to_tensor_dtype(x.dtype) for x in (a, b)]
    given = [helper.make_tensor_value_info(n, t, None) for n, t in zip("ab", types, strict=True)]
    result = [helper.make_tensor_value_info("c", TensorProto.INT32, None)]
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["c"])], "g", given, result)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda: session.run(None, {"a": a, "b": b})


def products() -> list[str]:
    """Rows of the table of products."""
    rng = np.random.default_rng(0)
    rows = []
    for n in SIZES:
        a, b = (rng.integers(0, 256, (n, n)).astype(np.uint8) for _ in range(2))
        p, q, x, w = b.view(np.int8), a.view(np.int8), a.astype(np.float32), b.astype(np.float32)
        whole = nt.jit(lambda a, b: np.matmul(a, b, dtype=np.int32), dynamic=False)
        single = nt.jit(lambda a, b: a @ b, dynamic=False)
        calls = {
            "f32": lambda single=single, x=x, w=w: single(x, w),
            "uint8 x int8": lambda whole=whole, a=a, p=p: whole(a, p),
            "int8 x int8": lambda whole=whole, q=q, p=p: whole(q, p),
        }
        if (judged := onnx_product(a, p)) is not None:
            calls["onnxruntime"] = judged
        found = medians(calls)
        figures = [
            f"{2 * n**3 / found[k] / 1e9:.0f}" if k in found else "" for k in (*calls, "onnxruntime")[:4]
        ]
        rows.append(f"| {n} | {' | '.join(figures)} |")
    return rows


def net(x, w, b, v):
    return np.maximum(x @ w + b, 0) @ v


def nets() -> list[str]:
    """Rows of the table of nets: 512 features, 1024 hidden, 512 results."""
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(s).astype(np.float32) for s in ((512, 1024), (1024,), (1024, 512))]
    for w in weights:
        w.flags.writeable = False
    rows = []
    for batch in (8, 64, 256):
        xs = [rng.standard_normal((batch, 512)).astype(np.float32) for _ in range(2)]
        calibration = nt.quant.calibrate(net, [(x, *weights) for x in xs], progress=False)
        frozen = {"dynamic": False, "constants": ("w", "b", "v")}
        functions = {
            "f32": nt.jit(net, **frozen),
            "calibrated": nt.jit(net, **frozen, quantise=calibration),
            "dynamic": nt.jit(net, **frozen, quantise="dynamic"),
            "calibrated, no constants": nt.jit(net, dynamic=False, quantise=calibration),
        }
        found = medians({name: lambda f=f, x=xs[0]: f(x, *weights) for name, f in functions.items()})
        rows.append(f"| {batch} | {' | '.join(f'{1e6 * t:.0f}' for t in found.values())} |")
    return rows


def main() -> None:
    """Measure, print and write the tables."""
    nt.set_num_threads(1)
    lines = [
        "# Products with integers of 8 bits",
        "",
        "`python -m benchmarks.quantised`: one thread, all in turn.",
        "",
        "10^9 operations a second, squares:",
        "",
        "| | f32 | uint8 x int8 | int8 x int8 | onnxruntime, uint8 x int8 |",
        "|---|---:|---:|---:|---:|",
        *products(),
        "",
        "Microseconds, `np.maximum(x @ w + b, 0) @ v`, 512 x 1024 x 512, by the rows of x; weights are `constants`:",
        "",
        "| | f32 | calibrated | dynamic | calibrated, no `constants` |",
        "|---|---:|---:|---:|---:|",
        *nets(),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    RESULTS.write_text(text)


if __name__ == "__main__":
    main()
