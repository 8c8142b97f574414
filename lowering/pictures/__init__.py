"""Pictures of IR: outlines, trees, SVG, and what each pass changed."""
