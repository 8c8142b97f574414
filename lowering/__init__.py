"""Conversions between levels, one a file, and the text emitters (LLVM IR, CUDA C)."""
