"""What both targets recognise in a nest, what is done for both, and what loops cost. Imports neither `cpu` nor `cuda`."""
