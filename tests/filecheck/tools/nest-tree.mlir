// `-t nest-tree` draws loops, buffers, reads and statements as a tree; with `--print-debuginfo` places stand beside them.
// RUN: opt-tool %s --allow-unregistered-dialect -t nest-tree | filecheck %s --strict-whitespace --match-full-lines
// RUN: opt-tool %s --allow-unregistered-dialect -t nest-tree --print-debuginfo | filecheck %s --check-prefix=PLACES
// RUN: not opt-tool %S/timing.mlir -t nest-tree 2>&1 | filecheck %s --check-prefix=LEVEL

// LEVEL: error: target 'nest-tree' needs functions at the nest level, and there is none
// LEVEL: help: loop nests come from the nt level by -p convert-nt-to-nest

// PLACES: for i = 0 to n  parallel {{ +}}nest-tree.mlir:31

//      CHECK:func @f(x: f32[n, dim(x, 1)], c: i1, out y: f32[n])
// CHECK-NEXT:├─ buffer t: f32[n, 4], shared
// CHECK-NEXT:├─ for i = 0 to n  parallel
// CHECK-NEXT:│  ├─ buffer sum: f32[2], 8 bytes
// CHECK-NEXT:│  ├─ write sum[0]  "zero"
// CHECK-NEXT:│  └─ for j = i to min(n, i + 3) step 2  vectorized(2)
// CHECK-NEXT:│     ├─ fetch x[i, j + 8]
// CHECK-NEXT:│     ├─ read x[i, j], x[i, 2 * j + 1]
// CHECK-NEXT:│     └─ update sum[0] by add, sequential where (j < n)
// CHECK-NEXT:├─ if c
// CHECK-NEXT:│  └─ for k = 0 to 4  bound to thread.x
// CHECK-NEXT:│     ├─ check at = k - 1 of n, axis 0 of y
// CHECK-NEXT:│     └─ write y[at]
// CHECK-NEXT:└─ else
// CHECK-NEXT:   └─ test.print
func.func @f(%x: memref<?x?xf32> {nest.dims = ["n", 4]}, %c: i1, %y: memref<?xf32> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %y, %c0 : memref<?xf32>
  %t = nest.alloc "t"(%n) : memref<?x4xf32, 3>
  nest.for "i" %i = 0 to %n parallel {
    %sum = nest.alloc "sum" : memref<2xf32>
    nest.store "zero" %zero, %sum[0] : memref<2xf32>
    nest.for "j" %j = %i to min(%n, %i + 3) step 2 vectorized(2) {
      nest.prefetch %x[%i, %j + 8] : memref<?x?xf32>
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      %b = nest.load %x[%i, 2 * %j + 1] : memref<?x?xf32>
      %ab = arith.addf %a, %b : f32
      nest.accumulate "sum" add %ab, %sum[0] where (%j < %n) order(sequential) : memref<2xf32>
    }
  }
  nest.if %c {
    nest.for "k" %k = 0 to 4 bind "thread.x" {
      %at = nest.index %k - 1 of %n axis 0 of "y"
      nest.store "y" %zero, %y[%at] : memref<?xf32>
    }
  } else {
    "test.print"() : () -> ()
  }
  func.return
}
