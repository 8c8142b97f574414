"""lit configuration: `lit tests/filecheck` from the repository root runs every textual test.

Tools come from the environment of the Python that runs lit; MLIR's own from $MLIR_BIN or its Debian home.
"""

import importlib.util
import os
import shutil
import sys

import lit.formats

config.name = "nestor"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".py", ".test"]  # noqa: F821
config.excludes = ["lit.cfg.py", "tool_server.py", "Inputs"]  # noqa: F821
config.test_source_root = os.path.dirname(os.path.abspath(__file__))  # noqa: F821
config.test_exec_root = os.path.join(  # noqa: F821
    os.environ.get("TMPDIR", "/tmp"), f"nestor-lit-{os.getuid()}"
)

mlir_bin = os.environ.get("MLIR_BIN", "/usr/lib/llvm-22/bin")
python_bin = os.path.dirname(sys.executable)
path = [python_bin, mlir_bin, os.environ.get("PATH", "")]
if os.environ.get("NESTOR_LIT_PLAIN", "0") == "0":
    sys.path.insert(0, config.test_source_root)  # noqa: F821
    import tool_server

    path.insert(0, tool_server.start())
config.environment["PATH"] = os.pathsep.join(path)  # noqa: F821
config.environment["PYTHONWARNINGS"] = "ignore"  # noqa: F821


def require(feature, available, reason):
    """Offer `feature` to `REQUIRES:` lines, or say why the tests that need it are skipped."""
    if available:
        config.available_features.add(feature)  # noqa: F821
    else:
        lit_config.note(f"tests that need '{feature}' are skipped: {reason}")  # noqa: F821


def has_module(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


require(
    "mlir-opt",
    os.access(os.path.join(mlir_bin, "mlir-opt"), os.X_OK) or shutil.which("mlir-opt") is not None,
    f"no mlir-opt in {mlir_bin} or on PATH (set MLIR_BIN; Debian: apt install mlir-22-tools)",
)
require(
    "nvrtc",
    has_module("nvidia.cu13") or has_module("nvidia.cuda_nvrtc"),
    "the package nvidia-cuda-nvrtc is not installed",
)
