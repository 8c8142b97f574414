"""Control flow: loops, branches and early exits, as nest loops over elements or as scf on tensors."""
