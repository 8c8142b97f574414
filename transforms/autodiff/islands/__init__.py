"""Derivatives of `nt.loops`: regions of loops over buffers, operation by operation, backwards and forwards."""
