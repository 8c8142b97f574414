// A crash inside a pass is told apart from a fault of the input; the traceback is for `--debug` only.
// RUN: not opt-tool %s --load-pass-plugin=%S/Inputs/test_passes.py -p test-crash 2>&1 | filecheck %s --check-prefixes=CHECK,QUIET
// RUN: not opt-tool %s --load-pass-plugin=%S/Inputs/test_passes.py -p test-crash --debug 2>&1 | filecheck %s --check-prefixes=CHECK,DEBUG

// CHECK: error: internal error in pass test-crash: KeyError: 'no such thing'
// CHECK: help: this is a bug in the plugin, rerun with --debug for the traceback
// QUIET-NOT: Traceback
// DEBUG: Traceback
// DEBUG: raise KeyError("no such thing")
