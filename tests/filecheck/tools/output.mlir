// `-o` replaces a file in one step; a failing run leaves the old one as it was.
// RUN: rm -rf %t && mkdir %t && opt-tool %s -o %t/out.mlir && filecheck %s --input-file=%t/out.mlir
// RUN: not opt-tool %s -p nothing -o %t/out.mlir 2>/dev/null && filecheck %s --input-file=%t/out.mlir
// RUN: ls -A %t | filecheck %s --check-prefix=FILES
// RUN: opt-tool - < %s | filecheck %s

// CHECK: func.func private @f()
// FILES: {{^out.mlir$}}
// FILES-NOT: {{.}}
func.func private @f()
