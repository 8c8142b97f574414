"""convert-nt-to-nest: tensors become loop nests over buffers."""
