// Loops change places: reductions in any order, and bounds that still stand inside of the loop they use.
// RUN: opt-tool %s -p 'nest-reorder{loops=j,i}' --split-input-file | filecheck %s

// CHECK-LABEL: @sum
// CHECK: nest.for "j" {{%\S+}} = 0 to 7 {
// CHECK-NEXT: nest.for "i" {{%\S+}} = 1 to %n {
// CHECK-NEXT: nest.load
func.func @sum(%n: index, %x: memref<?x7xf32>, %y: memref<7xf32>) {
  nest.for "i" %i = 1 to %n {
    nest.for "j" %j = 0 to 7 {
      %a = nest.load %x[%i, %j] : memref<?x7xf32>
      nest.accumulate "y" add %a, %y[%j] : memref<7xf32>
    }
  }
  func.return
}

// -----

// The stencil reads what an earlier iteration of both loops wrote: (1, 1) stays positive.
// CHECK-LABEL: @stencil
// CHECK: nest.for "j"
// CHECK-NEXT: nest.for "i"
func.func @stencil(%n: index, %y: memref<?x?xf32>) {
  nest.for "i" %i = 1 to %n {
    nest.for "j" %j = 1 to %n {
      %a = nest.load %y[%i - 1, %j - 1] : memref<?x?xf32>
      nest.store "y" %a, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @tiles
// CHECK: nest.for "k"
// CHECK-NEXT: nest.for "j" [[J:%\S+]]
// CHECK-NEXT: nest.for "i" {{%\S+}} = 0 to min(32, %n - 32 * %k)
func.func @tiles(%n: index, %x: f32, %y: memref<?x?xf32>) {
  nest.for "k" %k = 0 to %n ceildiv 32 {
    nest.for "i" %i = 0 to min(32, %n - 32 * %k) {
      nest.for "j" %j = 0 to 32 {
        nest.store "y" %x, %y[32 * %k + %i, %j] : memref<?x?xf32>
      }
    }
  }
  func.return
}
