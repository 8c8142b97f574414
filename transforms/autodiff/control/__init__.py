"""Derivatives of `scf.if`, `scf.for` and `scf.while` on tensors: the forward run keeps what the reverse needs of it."""
