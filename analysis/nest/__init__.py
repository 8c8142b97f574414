"""Facts about loop nests. Changes no IR; imports only `dialects` and its own rooms."""
