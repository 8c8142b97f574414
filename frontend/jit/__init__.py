"""`nt.jit`: what a call does, from arguments to results."""
