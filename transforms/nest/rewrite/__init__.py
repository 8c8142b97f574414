"""What the primitives are made of: naming and rewriting loops, buffers and indices, trials, steps that are recorded. Decides
nothing.
"""
