"""Engines that run compiled code: CPU (llvmlite), CUDA (CuPy), the CUDA simulator, the interpreter."""
