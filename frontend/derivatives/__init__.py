"""What calls of nt.grad and its kin are in compiled code: private functions, and operations beside them."""
