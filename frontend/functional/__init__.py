"""Functions of functions as Python calls them: nt.grad and its kin, jitted functions of texts that say the same."""
