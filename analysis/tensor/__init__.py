"""Facts about tensor programs. Changes no IR; imports only `dialects` and `analysis`."""
