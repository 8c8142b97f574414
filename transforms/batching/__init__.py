"""Functions applied to every slice of their operands: `nt.batch` becomes operations on whole stacks.

There is one rule for each kind of operation. Imports `transforms/tensor`, `lowering/nt_to_nest` and `dialects`.
"""
