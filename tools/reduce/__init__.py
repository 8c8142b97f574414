"""`opt-tool-reduce`: a small IR file that still shows what a large one shows. Calls opt_tool and dialects."""
