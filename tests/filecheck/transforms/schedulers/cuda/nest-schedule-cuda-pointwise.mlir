// RUN: opt-tool %s -p nest-schedule-cuda --split-input-file --verify-diagnostics | filecheck %s
// Elementwise nests: 16 bytes a thread, vectors in flight, two axes of the grid in place of divisions.

// One operand: four vectors in flight. The number of elements is a multiple of four: threads are masked, not elements.
// CHECK-LABEL: @line
// CHECK: nest.for "i_j.o.o" [[B:%\S+]] = 0 to 2442 bind "block.x" {
// CHECK-NEXT: nest.for "i_j.o.i.i" [[T:%\S+]] = 0 to 256 bind "thread.x" {
// CHECK-NEXT: nest.for "i_j.o.i.o" [[U:%\S+]] = 0 to 4 unrolled {
// CHECK-NEXT: nest.for "i_j.i" [[V:%\S+]] = 0 to 4 vectorized(4) {
// CHECK: nest.store "y" {{.*}} where (1024 * [[B]] + 256 * [[U]] + [[T]] < 2500000)
func.func @line(%x: memref<1000x10000xf32>, %y: memref<1000x10000xf32>) {
  nest.for "i" %i = 0 to 1000 {
    nest.for "j" %j = 0 to 10000 {
      %v = nest.load %x[%i, %j] : memref<1000x10000xf32>
      nest.store "y" %v, %y[%i, %j] : memref<1000x10000xf32>
    }
  }
  func.return
}

// -----

// An extent known at run time only. f32 is the widest, so that four f16 are 8 bytes; 48 bytes in flight are two vectors of each.
// CHECK-LABEL: @dynamic
// CHECK: nest.for "i.o" {{%\S+}} = 0 to %n ceildiv 2048 bind "block.x" {
// CHECK-NEXT: nest.for "i.i.o.i" {{%\S+}} = 0 to 256 bind "thread.x" {
// CHECK-NEXT: nest.for "i.i.o.o" {{%\S+}} = 0 to 2 unrolled {
// CHECK-NEXT: nest.for "i.i.i" {{%\S+}} = 0 to 4 vectorized(4) {
func.func @dynamic(%x: memref<?xf32> {nest.dims = ["n"]}, %h: memref<?xf16> {nest.dims = ["n"]}, %y: memref<?xf32> {nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to %n {
    %v = nest.load %x[%i] : memref<?xf32>
    %w = nest.load %h[%i] : memref<?xf16>
    %e = arith.extf %w : f16 to f32
    %s = arith.addf %v, %e : f32
    nest.store "y" %s, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// Small: fewer lanes, so that there is a block for each multiprocessor. 300 x 300 = 90000 elements: one lane would be 352 blocks.
// CHECK-LABEL: @small
// CHECK: nest.for "i.o.o" {{%\S+}} = 0 to 176 bind "block.x" {
// CHECK-NEXT: nest.for "i.o.i" {{%\S+}} = 0 to 256 bind "thread.x" {
// CHECK-NEXT: nest.for "i.i" {{%\S+}} = 0 to 2 vectorized(2) {
func.func @small(%x: memref<90000xf32>, %y: memref<90000xf32>) {
  nest.for "i" %i = 0 to 90000 {
    %v = nest.load %x[%i] : memref<90000xf32>
    nest.store "y" %v, %y[%i] : memref<90000xf32>
  }
  func.return
}

// -----

// A bias along the rows and a factor for each: rows are an axis of the grid, and the bias is loaded once for four of them.
// CHECK-LABEL: @rows
// CHECK: nest.for "i.o" {{%\S+}} = 0 to 4096 bind "block.y" {
// CHECK-NEXT: nest.for "j.o.o" {{%\S+}} = 0 to 1 bind "block.x" {
// CHECK-NEXT: nest.for "i.i.i" {{%\S+}} = 0 to 4 bind "thread.y" {
// CHECK-NEXT: nest.for "j.o.i" {{%\S+}} = 0 to 64 bind "thread.x" {
// CHECK-NEXT: nest.for "i.i.o" {{%\S+}} = 0 to 4 unrolled {
// CHECK-NEXT: nest.for "j.i" {{%\S+}} = 0 to 4 vectorized(4) {
// CHECK-NEXT: nest.load %c
func.func @rows(%x: memref<65536x256xf32>, %r: memref<256xf32>, %c: memref<65536xf32>, %y: memref<65536x256xf32>) {
  nest.for "i" %i = 0 to 65536 {
    %f = nest.load %c[%i] : memref<65536xf32>
    nest.for "j" %j = 0 to 256 {
      %v = nest.load %x[%i, %j] : memref<65536x256xf32>
      %b = nest.load %r[%j] : memref<256xf32>
      %s = arith.addf %v, %b : f32
      %p = arith.mulf %s, %f : f32
      nest.store "y" %p, %y[%i, %j] : memref<65536x256xf32>
    }
  }
  func.return
}

// -----

// Rows of an odd length begin at any element: no vectors. Nor where a neighbour is read as well.
// CHECK-LABEL: @odd_rows
// CHECK-NOT: vectorized
func.func @odd_rows(%x: memref<4096x1001xf32>, %r: memref<1001xf32>, %y: memref<4096x1001xf32>, %a: memref<9000000xf32>, %b: memref<9000000xf32>) {
  nest.for "i" %i = 0 to 4096 {
    nest.for "j" %j = 0 to 1001 {
      %v = nest.load %x[%i, %j] : memref<4096x1001xf32>
      %w = nest.load %r[%j] : memref<1001xf32>
      %s = arith.addf %v, %w : f32
      nest.store "y" %s, %y[%i, %j] : memref<4096x1001xf32>
    }
  }
  nest.for "k" %k = 0 to 8999999 {
    %v = nest.load %a[%k] : memref<9000000xf32>
    %w = nest.load %a[%k + 1] : memref<9000000xf32>
    %s = arith.addf %v, %w : f32
    nest.store "b" %s, %b[%k] : memref<9000000xf32>
  }
  func.return
}

// -----

// Both operands and the result lie along the other axis: the loops change places.
// CHECK-LABEL: @columns_first
// CHECK: nest.for "j.o" {{%\S+}} = 0 to %m ceildiv {{[0-9]+}} bind
// CHECK-NEXT: nest.for "i.o" {{%\S+}} = 0 to %n ceildiv 128 bind
// CHECK: nest.for "i.i.o" {{%\S+}} = 0 to 32 bind "thread.x" {
// CHECK: nest.for "i.i.i" {{%\S+}} = 0 to 4 vectorized(4) {
func.func @columns_first(%x: memref<?x?xf32, strided<[1, ?]>> {nest.dims = ["n", "m"]}, %y: memref<?x?xf32, strided<[1, ?]>> {nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32, strided<[1, ?]>>
  %m = memref.dim %x, %c1 : memref<?x?xf32, strided<[1, ?]>>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %v = nest.load %x[%i, %j] : memref<?x?xf32, strided<[1, ?]>>
      nest.store "y" %v, %y[%i, %j] : memref<?x?xf32, strided<[1, ?]>>
    }
  }
  func.return
}

// -----

// Rows and columns that memory lets be one, below an axis that it does not: the product of their extents, which the launch
// needs, is computed outside of the nest.
// CHECK-LABEL: @product_of_extents
// CHECK: [[HW:%\S+]] = arith.muli %h, %w
// CHECK: nest.for "i.o" {{%\S+}} = 0 to %n
// CHECK: nest.for "j_k.o" {{%\S+}} = 0 to [[HW]] ceildiv 128 bind
func.func @product_of_extents(%x: memref<?x?x?xf32> {nest.dims = ["n", "h", "w"]}, %b: memref<?xf32> {nest.dims = ["n"]}, %y: memref<?x?x?xf32> {nest.dims = ["n", "h", "w"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, %c0 : memref<?x?x?xf32>
  %h = memref.dim %x, %c1 : memref<?x?x?xf32>
  %w = memref.dim %x, %c2 : memref<?x?x?xf32>
  nest.for "i" %i = 0 to %n {
    %f = nest.load %b[%i] : memref<?xf32>
    nest.for "j" %j = 0 to %h {
      nest.for "k" %k = 0 to %w {
        %v = nest.load %x[%i, %j, %k] : memref<?x?x?xf32>
        %s = arith.addf %v, %f : f32
        nest.store "y" %s, %y[%i, %j, %k] : memref<?x?x?xf32>
      }
    }
  }
  func.return
}

// -----

// Triples as three rows: a thread reads the three elements that are neighbours.
// CHECK-LABEL: @triples
// CHECK: nest.for "i.o" {{%\S+}} = 0 to 1 bind "block.y" {
// CHECK: bind "block.x"
// CHECK-NEXT: bind "thread.x"
// CHECK-NEXT: nest.for "i.i" {{%\S+}} = 0 to 3 unrolled {
func.func @triples(%x: memref<100000x3xf32>, %y: memref<3x100000xf32>) {
  nest.for "i" %i = 0 to 3 {
    nest.for "j" %j = 0 to 100000 {
      %a = nest.load %x[%j, %i] : memref<100000x3xf32>
      nest.store "y" %a, %y[%i, %j] : memref<3x100000xf32>
    }
  }
  func.return
}

// -----

// A function of doubles: one vector a thread, where a sum would have four in flight.
// CHECK-LABEL: @doubles
// CHECK: nest.for "i.o.o" {{%\S+}} = 0 to 19532 bind "block.x" {
// CHECK-NEXT: nest.for "i.o.i" {{%\S+}} = 0 to 256 bind "thread.x" {
// CHECK-NEXT: nest.for "i.i" {{%\S+}} = 0 to 2 vectorized(2) {
func.func @doubles(%x: memref<10000000xf64>, %y: memref<10000000xf64>) {
  nest.for "i" %i = 0 to 10000000 {
    %v = nest.load %x[%i] : memref<10000000xf64>
    %e = math.exp %v : f64
    nest.store "y" %e, %y[%i] : memref<10000000xf64>
  }
  func.return
}
