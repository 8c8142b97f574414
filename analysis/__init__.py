"""Facts about IR: what may be proved of a program as it stands. Changes no IR; imports only `dialects`."""
