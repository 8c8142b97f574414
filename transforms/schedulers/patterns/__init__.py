"""What both targets recognise in a nest, and what a step costs. Imports neither `cpu` nor `cuda`."""
