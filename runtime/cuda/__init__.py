"""The CUDA engine: NVRTC, CuPy, launch plans. Compiling needs no GPU; running does."""
