// Loops over memory that is not contiguous are flattened by divisions, where the inner count is constant or the outer one 1.
// RUN: opt-tool %s -p 'nest-flatten{loop=i}' --split-input-file | filecheck %s

// Contiguous rows from the second on need no division.
// CHECK-LABEL: @rows
// CHECK:      %[[Y:.*]] = memref.collapse_shape %y
// CHECK-NEXT: nest.for "i_j" %[[F:.*]] = 14 to 7 * %n {
// CHECK-NEXT:   nest.store "y" %x, %[[Y]][%[[F]]] : memref<?xf32>
func.func @rows(%n: index, %x: f32, %y: memref<?x7xf32>) {
  nest.for "i" %i = 2 to %n {
    nest.for "j" %j = 0 to 7 {
      nest.store "y" %x, %y[%i, %j] : memref<?x7xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @transposed
// CHECK:      nest.for "i_j" %[[F:.*]] = 0 to 3 * ((%n - 2) ceildiv 4) {
// CHECK-NEXT:   nest.store "y" %x, %y[2 * (%[[F]] mod 3) + 1, 4 * (%[[F]] floordiv 3) + 2] where (2 * (%[[F]] mod 3) < 4) : memref<7x?xf32>
func.func @transposed(%n: index, %x: f32, %y: memref<7x?xf32>) {
  nest.for "i" %i = 2 to %n step 4 {
    nest.for "j" %j = 1 to 7 step 2 {
      nest.store "y" %x, %y[%j, %i] where (%j < 5) : memref<7x?xf32>
    }
  }
  func.return
}

// -----

// A parallelogram; the variable of the outer loop as a number.
// CHECK-LABEL: @skewed
// CHECK:      nest.for "i_j" %[[F:.*]] = 0 to 12 {
// CHECK:        arith.floordivsi %[[F]]
// CHECK:        nest.store "y" {{%\S+}}, %y[%[[F]] floordiv 3 + %[[F]] mod 3, 1] : memref<9x2xi64>
func.func @skewed(%y: memref<9x2xi64>) {
  nest.for "i" %i = 0 to 4 {
    nest.for "j" %j = %i to %i + 3 {
      %a = arith.index_cast %i : index to i64
      nest.store "y" %a, %y[%j, 1] : memref<9x2xi64>
    }
  }
  func.return
}

// -----

// One iteration of the outer loop: the inner one stays as it is.
// CHECK-LABEL: @one
// CHECK:      nest.for "i_j" %[[F:.*]] = 4 to min(%n, 9) step 2 {
// CHECK-NEXT:   nest.store "y" %x, %y[%[[F]], 3] : memref<?x4xf32>
func.func @one(%n: index, %x: f32, %y: memref<?x4xf32>) {
  nest.for "i" %i = 3 to 4 {
    nest.for "j" %j = %i + 1 to min(%n, 9) step 2 {
      nest.store "y" %x, %y[%j, %i] : memref<?x4xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @none
// CHECK:      nest.for "i_j" {{%\S+}} = 0 to 0 {
func.func @none(%n: index, %x: f32, %y: memref<4x4xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 3 to 2 {
      nest.store "y" %x, %y[%j, %i] : memref<4x4xf32>
    }
  }
  func.return
}

// -----

// A window needs divisions, and the weights, which are contiguous over both loops, do not.
// CHECK-LABEL: @window
// CHECK:      %[[W:.*]] = memref.collapse_shape %w
// CHECK-NEXT: nest.for "i_j" %[[F:.*]] = 0 to 9 {
// CHECK-NEXT:   %[[A:.*]] = nest.load %x[%k + %[[F]] floordiv 3, %l + %[[F]] mod 3] : memref<9x9xf32>
// CHECK-NEXT:   %[[B:.*]] = nest.load %[[W]][%[[F]]] : memref<9xf32>
func.func @window(%k: index, %l: index, %x: memref<9x9xf32>, %w: memref<3x3xf32>, %y: memref<f32>) {
  nest.for "i" %i = 0 to 3 {
    nest.for "j" %j = 0 to 3 {
      %a = nest.load %x[%k + %i, %l + %j] : memref<9x9xf32>
      %b = nest.load %w[%i, %j] : memref<3x3xf32>
      %p = arith.mulf %a, %b : f32
      nest.accumulate "y" add %p, %y[] : memref<f32>
    }
  }
  func.return
}
