"""Primitives that move computations between loops: compute-at, inlining, rolling buffers, with their checks and plans."""
