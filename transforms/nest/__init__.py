"""Passes at the nest (loop-nest) level."""
