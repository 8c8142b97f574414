// Products with few rows, columns or terms on the CPU: the big matrix is read once, where it is.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s

// A vector times a matrix: strips of columns for the threads, eight rows of the matrix at a time.
// CHECK-LABEL: func.func @vector
// CHECK:       nest.for "j.o" %{{.*}} = 0 to 2 parallel
// CHECK:         nest.for "k.o" %{{.*}} = 0 to 128 {
// CHECK:           nest.for "j.i.o"
// CHECK:             nest.alloc "sums" : memref<64xf32>
// CHECK:             nest.for "k.i" %{{.*}} = 0 to 8 {
// CHECK-NEXT:          nest.for "j.i.i" %{{.*}} = 0 to 64 vectorized(64) {
// CHECK-NOT:   "panel"
func.func @vector(%a: memref<1x1024xf32>, %b: memref<1024x8192xf32>, %c: memref<1x8192xf32>) {
  nest.for "i" %i = 0 to 1 {
    nest.for "j" %j = 0 to 8192 {
      nest.for "k" %l = 0 to 1024 {
        %x = nest.load %a[%i, %l] : memref<1x1024xf32>
        %y = nest.load %b[%l, %j] : memref<1024x8192xf32>
        %p = arith.mulf %x, %y : f32
        nest.accumulate "c" add %p, %c[%i, %j] : memref<1x8192xf32>
      }
    }
  }
  func.return
}

// The same as it comes from nt, where the vector's element is loaded once for a row of the matrix: it is sunk first.
// CHECK-LABEL: func.func @vector_loaded_outside
// CHECK:       nest.for "i.o" %{{.*}} = 0 to 2 parallel
// CHECK:         nest.for "k.o" %{{.*}} = 0 to 128 {
// CHECK:           nest.for "i.i.o"
// CHECK:             nest.alloc "sums" : memref<64xf32>
// CHECK:             nest.for "k.i" %{{.*}} = 0 to 8 {
// CHECK-NEXT:          nest.for "i.i.i" %{{.*}} = 0 to 64 vectorized(64) {
func.func @vector_loaded_outside(%a: memref<1024xf32>, %b: memref<1024x8192xf32>, %c: memref<8192xf32>) {
  nest.for "k" %l = 0 to 1024 {
    %x = nest.load %a[%l] : memref<1024xf32>
    nest.for "i" %i = 0 to 8192 {
      %y = nest.load %b[%l, %i] : memref<1024x8192xf32>
      %p = arith.mulf %x, %y : f32
      nest.accumulate "c" add %p, %c[%i] : memref<8192xf32>
    }
  }
  func.return
}

// Short rows: threads share the terms, and the load stays where it is.
// CHECK-LABEL: func.func @short_rows
// CHECK:       nest.load %a
// CHECK-NEXT:  nest.for
func.func @short_rows(%a: memref<1024xf32>, %b: memref<1024x64xf32>, %c: memref<64xf32>) {
  nest.for "k" %l = 0 to 1024 {
    %x = nest.load %a[%l] : memref<1024xf32>
    nest.for "i" %i = 0 to 64 {
      %y = nest.load %b[%l, %i] : memref<1024x64xf32>
      %p = arith.mulf %x, %y : f32
      nest.accumulate "c" add %p, %c[%i] : memref<64xf32>
    }
  }
  func.return
}

// Few rows: their sums are a tile in registers.
// CHECK-LABEL: func.func @rows
// CHECK:       nest.for "j.o" %{{.*}} parallel
// CHECK:         nest.for "k.o"
// CHECK:           nest.for "j.i.o"
// CHECK:             nest.alloc "sums" : memref<5x32xf32>
// CHECK:             nest.for "k.i" %{{.*}} = 0 to min(8, %k - 8 * %{{.*}}) {
// CHECK-NEXT:          nest.for "i" %{{.*}} = 0 to 5 unrolled {
// CHECK-NEXT:            nest.for "j.i.i" %{{.*}} = 0 to 32 vectorized(32) {
// CHECK-NOT:   "panel"
func.func @rows(%a: memref<5x?xf32>, %b: memref<?x?xf32>, %c: memref<5x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = memref.dim %b, %c0 : memref<?x?xf32>
  %n = memref.dim %b, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to %n {
      nest.for "k" %l = 0 to %k {
        %x = nest.load %a[%i, %l] : memref<5x?xf32>
        %y = nest.load %b[%l, %j] : memref<?x?xf32>
        %p = arith.mulf %x, %y : f32
        nest.accumulate "c" add %p, %c[%i, %j] : memref<5x?xf32>
      }
    }
  }
  func.return
}

// Few columns: lanes are terms; the small matrix is turned, its columns and two rows of the other one side by side.
// CHECK-LABEL: func.func @columns
// CHECK:       nest.for "product" %{{.*}} = 0 to 1 {
// CHECK:         nest.alloc "turned" : memref<4x512xf32>
// CHECK:         nest.for "i.o" %[[I:.*]] = 0 to 500 parallel
// CHECK:           nest.for "k.i" %[[V:.*]] = 0 to 16 vectorized(16) {
// CHECK-NEXT:        nest.load %a[2 * %[[I]], 16 * %{{.*}} + %[[V]]]
// CHECK-COUNT-8:     nest.accumulate "c" add
func.func @columns(%a: memref<1000x512xf32>, %b: memref<512x4xf32>, %c: memref<1000x4xf32>) {
  nest.for "i" %i = 0 to 1000 {
    nest.for "j" %j = 0 to 4 {
      nest.for "k" %l = 0 to 512 {
        %x = nest.load %a[%i, %l] : memref<1000x512xf32>
        %y = nest.load %b[%l, %j] : memref<512x4xf32>
        %p = arith.mulf %x, %y : f32
        nest.accumulate "c" add %p, %c[%i, %j] : memref<1000x4xf32>
      }
    }
  }
  func.return
}

// Small matrices: each a tile, which is set where it is summed up, its terms one after the other.
// CHECK-LABEL: func.func @small
// CHECK:       nest.for "s" %{{.*}} = 0 to 9000 parallel
// CHECK:         %[[S:.*]] = nest.alloc "sums" : memref<3x4xf32>
// CHECK:         nest.store "zero" %{{.*}}, %[[S]]
// CHECK:         nest.for "k" %{{.*}} = 0 to 3 unrolled {
// CHECK-NEXT:      nest.for "i.1.i" %{{.*}} = 0 to 3 unrolled {
// CHECK-NEXT:        nest.for "j.1" %{{.*}} = 0 to 3 vectorized(4) {
// CHECK:               nest.accumulate "c" add %{{.*}}, %[[S]]
func.func @small(%a: memref<9000x3x3xf32>, %b: memref<9000x3x3xf32>, %c: memref<9000x3x3xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "s" %s = 0 to 9000 {
    nest.for "i" %i = 0 to 3 {
      nest.for "j" %j = 0 to 3 {
        nest.store "zero" %zero, %c[%s, %i, %j] : memref<9000x3x3xf32>
      }
    }
  }
  nest.for "s.1" %s = 0 to 9000 {
    nest.for "i.1" %i = 0 to 3 {
      nest.for "j.1" %j = 0 to 3 {
        nest.for "k" %l = 0 to 3 {
          %x = nest.load %a[%s, %i, %l] : memref<9000x3x3xf32>
          %y = nest.load %b[%s, %l, %j] : memref<9000x3x3xf32>
          %p = arith.mulf %x, %y : f32
          nest.accumulate "c" add %p, %c[%s, %i, %j] : memref<9000x3x3xf32>
        }
      }
    }
  }
  func.return
}
