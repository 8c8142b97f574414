"""Primitives that change how a reduction is computed: in parts, in lanes, in trees, in one pass."""
