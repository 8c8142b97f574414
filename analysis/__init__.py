"""Facts about IR: what may be proved of a program as it is. Changes no IR; imports only `dialects`."""
