"""What the primitives are made of: finding and rewriting loops, buffers, bounds and indices. Rewrites IR, decides
nothing.
"""
