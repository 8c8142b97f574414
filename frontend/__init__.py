"""From Python functions to the nt dialect, and `@nt.jit`."""
