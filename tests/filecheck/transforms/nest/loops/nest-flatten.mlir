// Two loops over contiguous buffers become one over collapsed views.
// RUN: opt-tool %s -p 'nest-flatten{loop=i}' --split-input-file | filecheck %s

// CHECK-LABEL: @static
// CHECK: [[X:%\S+]] = memref.collapse_shape %x {{.*}} into memref<35xf32>
// CHECK: nest.for "i_j" [[K:%\S+]] = 0 to 35 {
// CHECK-NEXT: nest.load [[X]]{{\[}}[[K]]]
func.func @static(%x: memref<5x7xf32>, %y: memref<5x7xf32>) {
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to 7 {
      %a = nest.load %x[%i, %j] : memref<5x7xf32>
      nest.store "y" %a, %y[%i, %j] : memref<5x7xf32>
    }
  }
  func.return
}

// -----

// Extents of one name are one extent; an access that uses neither variable stays.
// CHECK-LABEL: @symbolic
// CHECK: [[NM:%\S+]] = arith.muli %n, %m : index
// CHECK: nest.for "i_j" [[K:%\S+]] = 0 to [[NM]] {
// CHECK: nest.load %s[0]
// CHECK: nest.store "y" {{.*}}{{\[}}[[K]], 1]
func.func @symbolic(%x: memref<?x?xf32> {nest.dims = ["n", "m"]}, %s: memref<1xf32>,
                    %y: memref<?x?x2xf32> {nest.dims = ["n", "m", 2]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      %b = nest.load %s[0] : memref<1xf32>
      %c = arith.addf %a, %b : f32
      nest.store "y" %c, %y[%i, %j, 1] : memref<?x?x2xf32>
    }
  }
  func.return
}

// -----

// The view of a buffer with merged axes is made of the buffer.
// CHECK-LABEL: @again
// CHECK-NEXT: [[X:%\S+]] = memref.collapse_shape %x {{.*}} : memref<4x?x3xf32> into memref<?xf32>
// CHECK-NEXT: nest.for "i_j" [[K:%\S+]] = 0 to 3 * %m {
// CHECK-NEXT: [[A:%\S+]] = nest.load [[X]]{{\[}}[[K]]]
// CHECK-NEXT: nest.store "x" [[A]], [[X]]{{\[}}[[K]]]
func.func @again(%m: index, %x: memref<4x?x3xf32>) {
  %v = memref.collapse_shape %x [[0, 1], [2]] : memref<4x?x3xf32> into memref<?x3xf32>
  nest.for "i" %i = 0 to %m {
    nest.for "j" %j = 0 to 3 {
      %a = nest.load %v[%i, %j] : memref<?x3xf32>
      nest.store "x" %a, %v[%i, %j] : memref<?x3xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @rows
// CHECK: nest.for "i_j" {{%\S+}} = 0 to 4 * %n {
func.func @rows(%x: memref<4x?xf32>) {
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c1 : memref<4x?xf32>
  nest.for "i" %i = 0 to 4 {
    nest.for "j" %j = 0 to %n {
      %a = nest.load %x[%i, %j] : memref<4x?xf32>
      nest.store "x" %a, %x[%i, %j] : memref<4x?xf32>
    }
  }
  func.return
}

// -----

// The view is made before all loops around that do not make the buffer: a kernel of the GPU takes it as an argument.
// CHECK-LABEL: func.func @inner_pair
func.func @inner_pair(%x: memref<3x4x5xf32>, %s: memref<3xf32>, %out: memref<3x4x5xf32>) {
  // CHECK-NEXT: %x_flat = memref.collapse_shape %x
  // CHECK-NEXT: %out_flat = memref.collapse_shape %out
  // CHECK-NEXT: nest.for "h"
  nest.for "h" %h = 0 to 3 {
    %f = nest.load %s[%h] : memref<3xf32>
    // CHECK: nest.for "i_k"
    nest.for "i" %i = 0 to 4 {
      nest.for "k" %k = 0 to 5 {
        %v = nest.load %x[%h, %i, %k] : memref<3x4x5xf32>
        %w = arith.mulf %v, %f : f32
        nest.store %w, %out[%h, %i, %k] : memref<3x4x5xf32>
      }
    }
  }
  func.return
}

// -----

// Where the inner loop has a constant number of iterations, the outer variable may be a term of its index, and one
// index may be made of both variables; a domain may speak of others.
// CHECK-LABEL: @terms
// CHECK: [[F:%\S+]] = memref.collapse_shape %w {{.*}} into memref<4x48xf32>
// CHECK: nest.for "i_j" [[IJ:%\S+]] = 0 to 24 {
// CHECK-NEXT: [[V:%\S+]] = nest.load [[F]][%k, 24 * %o + [[IJ]]]
// CHECK-NEXT: nest.store "y" [[V]], %y{{\[}}[[IJ]], %k] where (%o + %k < 4)
func.func @terms(%w: memref<4x16x3xf32>, %y: memref<24x4xf32>) {
  nest.for "o" %o = 0 to 2 {
    nest.for "k" %k = 0 to 4 {
      nest.for "i" %i = 0 to 8 {
        nest.for "j" %j = 0 to 3 {
          %v = nest.load %w[%k, 8 * %o + %i, %j] : memref<4x16x3xf32>
          nest.store "y" %v, %y[3 * %i + %j, %k] where (%o + %k < 4) : memref<24x4xf32>
        }
      }
    }
  }
  func.return
}

// -----

// The outer variable is gone where the inner loop never runs as well.
// CHECK-LABEL: @never
// CHECK: nest.for "i_k" [[I:%\S+]] = 0 to 0 {
// CHECK-NEXT: nest.for "j" [[J:%\S+]] = 0 to 3 {
// CHECK-NEXT: nest.store "c" %zero, %c{{\[}}[[I]], [[J]]]
func.func @never(%c: memref<0x3xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %one = 0 to 1 {
    nest.for "k" %i = 0 to 0 {
      nest.for "j" %j = 0 to 3 {
        nest.store "c" %zero, %c[%i, %j] : memref<0x3xf32>
      }
    }
  }
  func.return
}

// -----

// An axis of a view is one of the buffer, or a product of several: so three extents that only the run knows become one.
// CHECK-LABEL: @flat_rows
// CHECK: [[X:%\S+]] = memref.collapse_shape %x {{.*}} : memref<?x?x?xf32> into memref<?xf32>
// CHECK: nest.for "i_k" [[K:%\S+]] =
// CHECK-NEXT: nest.load [[X]]{{\[}}[[K]]]
func.func @flat_rows(%x: memref<?x?x?xf32> {nest.dims = ["n", "m", "l"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, %c0 : memref<?x?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?x?xf32>
  %l = memref.dim %x, %c2 : memref<?x?x?xf32>
  %nm = arith.muli %n, %m : index
  %v = memref.collapse_shape %x [[0, 1], [2]] : memref<?x?x?xf32> into memref<?x?xf32>
  nest.for "i" %i = 0 to %nm {
    nest.for "k" %k = 0 to %l {
      %a = nest.load %v[%i, %k] : memref<?x?xf32>
      nest.store "x" %a, %v[%i, %k] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @flat_columns
// CHECK: [[X:%\S+]] = memref.collapse_shape %x {{.*}} : memref<?x?x?xf32> into memref<?xf32>
// CHECK: nest.for "i_k" [[K:%\S+]] =
// CHECK-NEXT: nest.load [[X]]{{\[}}[[K]]]
func.func @flat_columns(%x: memref<?x?x?xf32> {nest.dims = ["n", "m", "l"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, %c0 : memref<?x?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?x?xf32>
  %l = memref.dim %x, %c2 : memref<?x?x?xf32>
  %lm = arith.muli %l, %m : index
  %v = memref.collapse_shape %x [[0], [1, 2]] : memref<?x?x?xf32> into memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "k" %k = 0 to %lm {
      %a = nest.load %v[%i, %k] : memref<?x?xf32>
      nest.store "x" %a, %v[%i, %k] : memref<?x?xf32>
    }
  }
  func.return
}
