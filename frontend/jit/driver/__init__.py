"""The face of `nt.jit`: the jitted function, its options and stages, its calls on each target, arrays of other libraries."""
