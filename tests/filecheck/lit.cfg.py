"""lit configuration: `lit tests/filecheck` from the repository root runs every textual test.

Tools come from the environment of the Python that runs lit; MLIR's own where `tools/test_environment.py` finds them.
"""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import lit.formats
from nestor.tools import test_environment

config.name = "nestor"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".py", ".test"]  # noqa: F821
config.excludes = ["lit.cfg.py", "tool_server.py", "Inputs"]  # noqa: F821
config.test_source_root = os.path.dirname(os.path.abspath(__file__))  # noqa: F821
config.test_exec_root = os.path.join(  # noqa: F821
    os.environ.get("TMPDIR", "/tmp"), f"nestor-lit-{os.getuid()}"
)

links = tempfile.TemporaryDirectory(prefix="nestor-lit-path-")
config.links = links  # noqa: F821 - held, and so there, until this process ends
path = [
    os.path.dirname(sys.executable),
    test_environment.path_of_tests(os.environ.get("PATH", ""), Path(links.name)),
]
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


for tool in test_environment.MLIR_TOOLS:
    require(tool, test_environment.mlir_tool(tool) is not None, test_environment.no_mlir_tool(tool))
require(
    "nvrtc",
    has_module("nvidia.cu13") or has_module("nvidia.cuda_nvrtc"),
    "the package nvidia-cuda-nvrtc is not installed",
)
