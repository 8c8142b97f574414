"""What lanes, threads and blocks do together: barriers, shares, tiles of matrix units, copies under way; what a mark
asks for.
"""
