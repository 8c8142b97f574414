"""`opt-tool`: options, pipelines, passes run one by one, diagnostics."""
