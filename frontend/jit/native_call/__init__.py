"""Entries of the native call wrapper: what calls without Python check, pass and return. Needs no compiler."""
