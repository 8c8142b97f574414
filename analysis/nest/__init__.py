"""Facts about loop nests: which loops, buffers and checks a function has. Changes no IR; its rooms have the deeper facts."""
