"""Conversions between levels, one per file, and the text emitters (LLVM IR, CUDA C)."""
