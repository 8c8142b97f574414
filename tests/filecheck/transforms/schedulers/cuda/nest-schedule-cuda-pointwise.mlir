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

// -----

// Windows of 2 x 2, in place: the threads are the windows of an image, the rows in them blocks.
// CHECK-LABEL: @windows
// CHECK: nest.for "m_i" [[B:%\S+]] = 0 to 4096 bind "block.z" {
// CHECK-NEXT: nest.for "k_l.o" {{%\S+}} = 0 to 1 bind "block.y" {
// CHECK-NEXT: nest.for "n.o.o" {{%\S+}} = 0 to 1 bind "block.x" {
// CHECK-NEXT: nest.for "k_l.i" {{%\S+}} = 0 to 256 bind "thread.y" {
// CHECK-NEXT: nest.for "n.o.i" {{%\S+}} = 0 to 1 bind "thread.x" {
// CHECK-NEXT: nest.for "n.i" {{%\S+}} = 0 to 2 vectorized(2) {
// CHECK: nest.store {{.*}} floordiv 2048, {{.*}} < 225)
func.func @windows(%y: memref<2048x15x15xf32>, %x: memref<2048x30x30xf32>) {
  nest.for "i" %i = 0 to 2048 {
    nest.for "k" %k = 0 to 15 {
      nest.for "l" %l = 0 to 15 {
        nest.for "m" %m = 0 to 2 {
          nest.for "n" %n = 0 to 2 {
            %a = nest.load %y[%i, %k, %l] : memref<2048x15x15xf32>
            %b = nest.load %x[%i, 2 * %k + %m, 2 * %l + %n] : memref<2048x30x30xf32>
            %c = arith.mulf %a, %b : f32
            nest.store %c, %x[%i, 2 * %k + %m, 2 * %l + %n] : memref<2048x30x30xf32>
          }
        }
      }
    }
  }
  func.return
}

// -----

// Few rows: no vectors in flight beyond them.
// CHECK-LABEL: @few_rows
// CHECK: nest.for "j.o" {{%\S+}} = 0 to 1 bind "block.y" {
// CHECK: nest.for "j.i" {{%\S+}} = 0 to 4 bind "thread.y" {
// CHECK-NOT: unrolled
func.func @few_rows(%x: memref<20000x3x64xf32>, %b: memref<64xf32>, %y: memref<20000x3x64xf32>) {
  nest.for "i" %i = 0 to 20000 {
    nest.for "j" %j = 0 to 3 {
      nest.for "k" %k = 0 to 64 {
        %a = nest.load %x[%i, 2 - %j, %k] : memref<20000x3x64xf32>
        %c = nest.load %b[%k] : memref<64xf32>
        %s = arith.addf %a, %c : f32
        nest.store "y" %s, %y[%i, %j, %k] : memref<20000x3x64xf32>
      }
    }
  }
  func.return
}
