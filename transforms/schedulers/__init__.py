"""Policy: what the automatic schedules do to a program on a machine. Calls the primitives; rewrites nothing itself."""
