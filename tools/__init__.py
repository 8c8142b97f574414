"""`opt-tool` and its siblings."""
