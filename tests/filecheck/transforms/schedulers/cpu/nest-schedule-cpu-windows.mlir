// Reductions over windows on the CPU: tiles of vectors of results in registers, with the border of the image made in parts.
// RUN: opt-tool %s --split-input-file -p nest-schedule-cpu | filecheck %s

// Pooling: what sets the results, reduces them and divides them is one nest; rows share what is loaded.
// CHECK-LABEL: func.func @average
// CHECK:       nest.for "b.1" %[[B:.*]] = 0 to 16 parallel
// CHECK-NEXT:    %[[P:.*]] = nest.alloc "p" : memref<1x34x34xf32>
// CHECK:         nest.for "i.1.o" %[[I:.*]] = 0 to 8 {
// CHECK-NEXT:      nest.for "j.1.o" %[[J:.*]] = 0 to 1 {
// CHECK-NEXT:        %[[S:.*]] = nest.alloc "sums" : memref<4x32xf32>
// CHECK-NEXT:        nest.for "i.1.i" %[[R:.*]] = 0 to 4 unrolled {
// CHECK-NEXT:          nest.for "j.1.i" %[[L:.*]] = 0 to 32 vectorized(32) {
// CHECK-NEXT:            nest.store "y" %zero, %[[S]][%[[R]], %[[L]]] where
// CHECK:             nest.for "u" %[[U:.*]] = 0 to 3 unrolled {
// CHECK-NEXT:          nest.for "v" %[[V:.*]] = 0 to 3 unrolled {
// CHECK-NEXT:            nest.for "i.1.i.1" %[[R:.*]] = 0 to 4 unrolled {
// CHECK-NEXT:              nest.for "j.1.i.1" %[[L:.*]] = 0 to 32 vectorized(32) {
// CHECK-NEXT:                nest.load %[[P]][0, 4 * %[[I]] + %[[R]] + %[[U]], 32 * %[[J]] + %[[L]] + %[[V]]]
// CHECK-NEXT:                nest.accumulate "y" add %{{.*}}, %[[S]][%[[R]], %[[L]]] where
// CHECK:             nest.for "i.1.i.1.1" %[[R:.*]] = 0 to 4 unrolled {
// CHECK-NEXT:          nest.for "j.1.i.1.1" %{{.*}} = 0 to 32 vectorized(32) {
// CHECK:                 arith.divf
// CHECK:                 nest.store "y" %{{.*}}, %y[%[[B]], 4 * %[[I]] + %[[R]],
func.func @average(%x: memref<16x32x30xf32>, %y: memref<16x32x30xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %nine = arith.constant 9.0 : f32
  %p = nest.alloc "p" : memref<16x34x32xf32>
  nest.for "b" %b = 0 to 16 {
    nest.for "i" %i = 0 to 34 {
      nest.for "j" %j = 0 to 32 {
        nest.store "p" %zero, %p[%b, %i, %j] : memref<16x34x32xf32>
        %e = nest.load %x[%b, %i - 1, %j - 1] : memref<16x32x30xf32>
        nest.store "p" %e, %p[%b, %i, %j] where (%i >= 1, %i < 33, %j >= 1, %j < 31) : memref<16x34x32xf32>
      }
    }
  }
  nest.for "b.1" %b = 0 to 16 {
    nest.for "i.1" %i = 0 to 32 {
      nest.for "j.1" %j = 0 to 30 {
        nest.store "y" %zero, %y[%b, %i, %j] : memref<16x32x30xf32>
      }
    }
  }
  nest.for "b.2" %b = 0 to 16 {
    nest.for "i.2" %i = 0 to 32 {
      nest.for "j.2" %j = 0 to 30 {
        nest.for "u" %u = 0 to 3 {
          nest.for "v" %v = 0 to 3 {
            %e = nest.load %p[%b, %i + %u, %j + %v] : memref<16x34x32xf32>
            nest.accumulate "y" add %e, %y[%b, %i, %j] : memref<16x32x30xf32>
          }
        }
      }
    }
  }
  nest.for "b.3" %b = 0 to 16 {
    nest.for "i.3" %i = 0 to 32 {
      nest.for "j.3" %j = 0 to 30 {
        %s = nest.load %y[%b, %i, %j] : memref<16x32x30xf32>
        %m = arith.divf %s, %nine : f32
        nest.store "y" %m, %y[%b, %i, %j] : memref<16x32x30xf32>
      }
    }
  }
  func.return
}

// -----

// A variable of each result, and every second element of a row: lanes may be a few elements apart.
// CHECK-LABEL: func.func @largest
// CHECK:       nest.for "i.o" %[[I:.*]] = 0 to
// CHECK:         nest.alloc "m" : memref<{{.*}}x32xf32>
// CHECK:         nest.for "u" %{{.*}} = 0 to 3 unrolled {
// CHECK-NEXT:      nest.for "v" %{{.*}} = 0 to 3 unrolled {
// CHECK:             nest.for "j.i.1" %{{.*}} = 0 to 32 vectorized(32) {
// CHECK-NEXT:          nest.load %x[{{.*}}64 * %{{.*}} + 2 * %{{.*}}]
// CHECK-NEXT:          nest.accumulate "m" maximum
func.func @largest(%x: memref<9x65x65xf32>, %y: memref<9x32x32xf32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff800000 : f32
  nest.for "b" %b = 0 to 9 {
    nest.for "i" %i = 0 to 32 {
      nest.for "j" %j = 0 to 32 {
        %m = nest.alloc "m" : memref<f32>
        nest.store "m" %lowest, %m[] : memref<f32>
        nest.for "u" %u = 0 to 3 {
          nest.for "v" %v = 0 to 3 {
            %e = nest.load %x[%b, 2 * %i + %u, 2 * %j + %v] : memref<9x65x65xf32>
            nest.accumulate "m" maximum %e, %m[] : memref<f32>
          }
        }
        %r = nest.load %m[] : memref<f32>
        nest.store "y" %r, %y[%b, %i, %j] : memref<9x32x32xf32>
      }
    }
  }
  func.return
}

// -----

// Sums of rows are no windows: no index moves with a result and with a term.
// CHECK-LABEL: func.func @rows
// CHECK-NOT:   unrolled
// CHECK:       return
func.func @rows(%x: memref<64x64xf32>, %y: memref<64xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 64 {
    nest.store "y" %zero, %y[%i] : memref<64xf32>
  }
  nest.for "i.1" %i = 0 to 64 {
    nest.for "u" %u = 0 to 64 {
      %e = nest.load %x[%i, %u] : memref<64x64xf32>
      nest.accumulate "y" add %e, %y[%i] : memref<64xf32>
    }
  }
  func.return
}
