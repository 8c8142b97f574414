"""What lanes, threads and blocks do together: barriers, shares, tiles of matrix units, copies in flight; what a mark
asks for.
"""
