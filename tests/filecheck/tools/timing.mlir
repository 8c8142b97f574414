// `--timing` reports phases and passes on standard error.
// RUN: opt-tool %s -p cse,canonicalize --timing 2>&1 >/dev/null | filecheck %s

// CHECK: Execution time report
// CHECK: {{[0-9.]+s \( *[0-9.]+%\)  Parse}}
// CHECK: {{[0-9.]+s \( *[0-9.]+%\)    cse}}
// CHECK: {{[0-9.]+s \( *[0-9.]+%\)    canonicalize}}
// CHECK: {{[0-9.]+s \(100.0%\)  Total}}
