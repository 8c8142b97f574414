"""What programs cost for given extents: operations, traffic, memory. Changes no IR; imports `dialects` and `analysis`."""
