"""Derivatives of tensor programs: `nt.vjp` and `nt.jvp` become operations of nt, by a rule for each operation (`rules/`)."""
