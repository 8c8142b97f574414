"""Runs emitted CUDA C, unmodified, on the CPU."""
