"""What every CUDA device has a limit of. Plain data: imports no xDSL."""

from __future__ import annotations

MAX_THREADS = 1024
"""Maximum number of threads per block on a GPU."""
