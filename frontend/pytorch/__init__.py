"""PyTorch: `torch.compile(model, backend="nestor")`. ATen operations become programs by one table. Imports PyTorch; nothing
imports it but PyTorch itself, by an entry point, and who asks for it by name."""
