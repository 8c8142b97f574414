"""The generated pages of docs/: schedules, NumPy's coverage, CUDA, the house."""
