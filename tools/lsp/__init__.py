"""`opt-tool-lsp`: a language server for textual IR. Calls opt_tool, transforms and dialects, and pygls."""
