"""Paired timings of Nestor against its peers: `make bench`."""
