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

// -----

// CHECK-LABEL: @triangle
// CHECK: nest.for "j" [[J:%\S+]] = 0 to %n - 1 {
// CHECK-NEXT: nest.for "i" {{%\S+}} = [[J]] + 1 to %n {
func.func @triangle(%n: index, %x: f32, %y: memref<?x?xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %i {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// A skewed loop: both bounds move along, so that the other loop has two of each.
// CHECK-LABEL: @skewed
// CHECK: nest.for "j" [[J:%\S+]] = 4 to %m + 2 * %n - 2 {
// CHECK-NEXT: nest.for "i" {{%\S+}} = max(2, ([[J]] - %m + 1) ceildiv 2) to min(%n, [[J]] floordiv 2 + 1) {
func.func @skewed(%n: index, %m: index, %x: f32, %y: memref<?x?xf32>) {
  nest.for "i" %i = 2 to %n {
    nest.for "j" %j = 2 * %i to %m + 2 * %i {
      nest.store "y" %x, %y[%i, %j - 2 * %i] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @blocks
// CHECK: nest.for "j" [[J:%\S+]] = 0 to (%n - 2) floordiv 4 + 1 {
// CHECK-NEXT: nest.for "i" {{%\S+}} = 4 * [[J]] + 1 to %n {
func.func @blocks(%n: index, %x: f32, %y: memref<?x?xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %i ceildiv 4 {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// A parallel loop that moves inside of another one is still parallel there.
// CHECK-LABEL: @inward
// CHECK: nest.for "j" {{%\S+}} = 0 to 8 {
// CHECK-NEXT: nest.for "i" {{%\S+}} = 0 to 8 parallel {
func.func @inward(%x: f32, %y: memref<8x8xf32>) {
  nest.for "i" %i = 0 to 8 parallel {
    nest.for "j" %j = 0 to 8 {
      nest.store "y" %x, %y[%i, %j] : memref<8x8xf32>
    }
  }
  func.return
}
