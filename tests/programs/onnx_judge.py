"""One operation of ONNX, computed by onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def run_node(name: str, inputs: list[np.ndarray], dtype: Any, **attributes: Any) -> np.ndarray:
    """What onnxruntime gives for an operation of these inputs; the test is skipped where it is not installed."""
    reason = "onnxruntime is not installed (the extra 'bench' has it)"
    onnx = pytest.importorskip("onnx", reason=reason)
    runtime = pytest.importorskip("onnxruntime", reason=reason)
    helper = onnx.helper

    def told(label: str, of: Any) -> Any:
        return helper.make_tensor_value_info(label, helper.np_dtype_to_tensor_dtype(np.dtype(of)), None)

    names = [f"x{k}" for k in range(len(inputs))]
    arrays = dict(zip(names, map(np.asarray, inputs), strict=True))
    node = helper.make_node(name, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", [told(k, a.dtype) for k, a in arrays.items()], [told("y", dtype)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    model.ir_version = 10
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, arrays)[0]
