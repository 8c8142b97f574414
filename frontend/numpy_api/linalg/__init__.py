"""Products of matrices, einsum, norms, and decompositions."""
