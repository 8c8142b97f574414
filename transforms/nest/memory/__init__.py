"""Primitives that change where elements are: copies, layouts, memory spaces, registers, prefetches."""
