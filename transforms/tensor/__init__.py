"""Passes at the nt (tensor) level."""
