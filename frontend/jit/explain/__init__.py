"""What `f.explain(...)` says of a call, as text and as a page; pictures of derivatives, and cells of notebooks."""
