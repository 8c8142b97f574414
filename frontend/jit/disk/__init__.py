"""Programs on the disk: what one depends on, how it is written and read. Needs no compiler to read one."""
