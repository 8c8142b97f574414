// What an iteration reads of a buffer is copied first: the window is the least box of its indices, cut off at the buffer's end.
// RUN: opt-tool %s -p 'nest-cache-read{buffer=w loop=o axes=1,0}' --split-input-file | filecheck %s

// A panel of a matrix, packed by columns; the last one is not whole. The rows are a symbolic extent.
// CHECK-LABEL: @panel
// CHECK: nest.for "o" [[O:%\S+]] = 0 to %m ceildiv 16 {
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "w_local"(%p) : memref<16x?xf32>
// CHECK-NEXT: nest.for "w_local.load.ax0" [[A:%\S+]] = 0 to min(16, %m - 16 * [[O]]) {
// CHECK-NEXT: nest.for "w_local.load.ax1" [[B:%\S+]] = 0 to %p {
// CHECK-NEXT: [[E:%\S+]] = nest.load %w{{\[}}[[B]], 16 * [[O]] + [[A]]]
// CHECK-NEXT: nest.store "w_local" [[E]], [[C]]{{\[}}[[A]], [[B]]]
// CHECK: nest.for "k" [[K:%\S+]] = 0 to %p {
// CHECK-NEXT: nest.for "v" [[V:%\S+]] = 0 to min(16, %m - 16 * [[O]]) {
// CHECK-NEXT: nest.load [[C]]{{\[}}[[V]], [[K]]]
func.func @panel(%w: memref<?x?xf32> {nest.dims = ["p", "m"]}, %s: memref<?xf32> {nest.dims = ["m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = memref.dim %w, %c0 : memref<?x?xf32>
  %m = memref.dim %w, %c1 : memref<?x?xf32>
  nest.for "o" %o = 0 to %m ceildiv 16 {
    nest.for "k" %k = 0 to %p {
      nest.for "v" %v = 0 to min(16, %m - 16 * %o) {
        %b = nest.load %w[%k, 16 * %o + %v] : memref<?x?xf32>
        nest.accumulate "s" add %b, %s[16 * %o + %v] : memref<?xf32>
      }
    }
  }
  func.return
}

// -----

// A stencil with a nonzero lower bound: three rows are the window, the column axis runs from 0 to the last neighbour.
// Nothing sticks out, which isl proves from the bounds.
// CHECK-LABEL: @stencil
// CHECK: nest.for "o" [[I:%\S+]] = 1 to 9 {
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "w_local" : memref<12x3xi32>
// CHECK: = 0 to 12 {
// CHECK: = 0 to 3 {
// CHECK: nest.load %w{{\[}}[[I]] + %ax1 - 1, %ax0]
// CHECK: nest.load [[C]]{{\[}}[[J:%\S+]], 0]
// CHECK-NEXT: nest.load [[C]]{{\[}}[[J]] + 1, 1]
// CHECK-NEXT: nest.load [[C]]{{\[}}[[J]] - 1, 2]
func.func @stencil(%w: memref<10x12xi32>, %y: memref<10x12xi32>) {
  nest.for "o" %i = 1 to 9 {
    nest.for "j" %j = 1 to 11 {
      %a = nest.load %w[%i - 1, %j] : memref<10x12xi32>
      %b = nest.load %w[%i, %j + 1] : memref<10x12xi32>
      %c = nest.load %w[%i + 1, %j - 1] : memref<10x12xi32>
      %d = arith.addi %a, %b : i32
      %e = arith.addi %c, %d : i32
      nest.store "y" %e, %y[%i, %j] : memref<10x12xi32>
    }
  }
  func.return
}

// -----

// An extent that is not known: a memref.dim gives it, and the copy stops there, above and below.
// CHECK-LABEL: @edges
// CHECK: [[M:%\S+]] = memref.dim %w
// CHECK: [[N:%\S+]] = memref.dim %w
// CHECK: nest.for "o"
// CHECK: nest.alloc "w_local" : memref<6x2xi32>
// CHECK: = 0 to min(6, [[M]] - 4 * %o) {
// CHECK: = max(0, 2 - 2 * %o) to min(2, [[N]] - 2 * %o + 2) {
// CHECK: nest.load %w[2 * %o + %ax1 - 2, 4 * %o + %ax0]
func.func @edges(%n: index, %w: memref<?x?xi32>, %y: memref<?xi32>) {
  nest.for "o" %o = 0 to %n {
    nest.for "j" %j = 0 to 6 step 5 {
      %a = nest.load %w[2 * %o - 2, 4 * %o + %j] : memref<?x?xi32>
      %b = nest.load %w[2 * %o - 1, 4 * %o + %j] : memref<?x?xi32>
      %c = arith.addi %a, %b : i32
      nest.store "y" %c, %y[%o] where (%o >= 1) : memref<?xi32>
    }
  }
  func.return
}

// -----

// A window of one element is a scalar and needs no loop; where it may be outside of the buffer, the copy has a domain.
// A triangle: the window ends at the diagonal, and is never of a negative size.
// CHECK-LABEL: @one
// CHECK: nest.alloc "w_local" : memref<i32>
// CHECK-NEXT: [[E:%\S+]] = nest.load %w[1, %o - 1]
// CHECK-NEXT: nest.store "w_local" [[E]], %w_local[] where (%o >= 1)
// CHECK: nest.load %w_local[]
func.func @one(%w: memref<8x8xi32>, %y: memref<8x8xi32>) {
  nest.for "o" %o = 0 to 8 {
    nest.for "j" %j = 0 to %o {
      %a = nest.load %w[1, %o - 1] : memref<8x8xi32>
      nest.store "y" %a, %y[%o, %j] : memref<8x8xi32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @triangle
// CHECK: nest.for "o" [[O:%\S+]] = 0 to 8 {
// CHECK: [[S:%\S+]] = arith.maxsi
// CHECK-NEXT: nest.alloc "w_local"([[S]]) : memref<?xi32>
// CHECK-NEXT: nest.for "w_local.load.ax0" %ax0 = 0 to [[O]] - 2 {
// CHECK-NEXT: nest.load %w{{\[}}[[O]], %ax0 + 2]
func.func @triangle(%w: memref<8x8xi32>, %y: memref<8x8xi32>) {
  nest.for "o" %o = 0 to 8 {
    nest.for "j" %j = 2 to %o {
      %a = nest.load %w[%o, %j] : memref<8x8xi32>
      nest.store "y" %a, %y[%o, %j] : memref<8x8xi32>
    }
  }
  func.return
}

// -----

// A buffer of the function's own, whose extent is the value that it was made with.
// CHECK-LABEL: @own
// CHECK: nest.for "o" [[O:%\S+]] = 1 to %n ceildiv 8 {
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "w_local" : memref<8x4xf32>
// CHECK: to min(8, %n - 8 * [[O]]) {
// CHECK: nest.load [[C]][%v, %k]
func.func @own(%n: index, %a: f32, %y: memref<?xf32>) {
  %w = nest.alloc "w"(%n) : memref<4x?xf32>
  nest.for "i" %i = 0 to 4 {
    nest.for "z" %z = 0 to %n {
      nest.store "w" %a, %w[%i, %z] : memref<4x?xf32>
    }
  }
  nest.for "o" %o = 1 to %n ceildiv 8 {
    nest.for "k" %k = 0 to 4 {
      nest.for "v" %v = 0 to min(8, %n - 8 * %o) {
        %b = nest.load %w[%k, 8 * %o + %v] : memref<4x?xf32>
        nest.accumulate "y" add %b, %y[%k] : memref<?xf32>
      }
    }
  }
  func.return
}

// -----

// Elements 1 and 3 of a copy are not read; the nest before has written them, all but the first of each row.
// CHECK-LABEL: @written_earlier
// CHECK: nest.alloc "w_local" : memref<5xf32>
// CHECK-NEXT: nest.for "w_local.load.ax0" [[A:%\S+]] = 0 to 5 {
// CHECK-NEXT: nest.load %w{{\[}}%o, [[A]] + 1]
func.func @written_earlier(%n: index, %v: f32, %y: memref<?xf32>) {
  %w = nest.alloc "w"(%n) : memref<?x6xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "k" %k = 1 to 6 {
      nest.store "w" %v, %w[%i, %k] : memref<?x6xf32>
    }
  }
  nest.for "o" %o = 0 to %n {
    nest.for "j" %j = 1 to 6 step 2 {
      %a = nest.load %w[%o, %j] : memref<?x6xf32>
      nest.accumulate "y" add %a, %y[%o] : memref<?xf32>
    }
  }
  func.return
}
