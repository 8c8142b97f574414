"""Primitives that give loops to lanes, threads and intrinsics, and marks for later levels to obey."""
