"""nt.grad and its kin: as Python calls them, and what calls of them are in compiled code."""
