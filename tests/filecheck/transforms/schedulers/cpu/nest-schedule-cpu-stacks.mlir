// A stack of matrices times one matrix is one product of all rows, and so are the nests around it.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s

// CHECK-LABEL: func.func @stack
// CHECK:       memref.collapse_shape %t {{.*}} into memref<400x64xf32>
// CHECK:       %[[X:.*]] = memref.collapse_shape %x {{.*}} into memref<400x96xf32>
// CHECK:       nest.for "product"
// CHECK:         nest.load %w
// CHECK:         nest.for "i_j.o" {{.*}} parallel
// CHECK:           nest.load %[[X]][
// CHECK:           math.exp
// CHECK:       func.return
func.func @stack(%x: memref<4x100x96xf32>, %w: memref<96x64xf32>, %y: memref<4x100x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<4x100x64xf32>
  nest.for "i" %i = 0 to 4 {
    nest.for "j" %j = 0 to 100 {
      nest.for "k" %k = 0 to 64 {
        nest.store "t" %zero, %t[%i, %j, %k] : memref<4x100x64xf32>
      }
    }
  }
  nest.for "i.1" %i = 0 to 4 {
    nest.for "j.1" %j = 0 to 100 {
      nest.for "k.1" %k = 0 to 64 {
        nest.for "l" %l = 0 to 96 {
          %a = nest.load %x[%i, %j, %l] : memref<4x100x96xf32>
          %b = nest.load %w[%l, %k] : memref<96x64xf32>
          %p = arith.mulf %a, %b : f32
          nest.accumulate "t" add %p, %t[%i, %j, %k] : memref<4x100x64xf32>
        }
      }
    }
  }
  nest.for "i.2" %i = 0 to 4 {
    nest.for "j.2" %j = 0 to 100 {
      nest.for "k.2" %k = 0 to 64 {
        %a = nest.load %t[%i, %j, %k] : memref<4x100x64xf32>
        %e = math.exp %a : f32
        nest.store "y" %e, %y[%i, %j, %k] : memref<4x100x64xf32>
      }
    }
  }
  func.return
}

// Each matrix of the stack has another one that it is multiplied with: they stay apart.
// CHECK-LABEL: func.func @batch
// CHECK-NOT:   memref.collapse_shape %x
// CHECK:       func.return
func.func @batch(%x: memref<4x100x96xf32>, %w: memref<4x96x64xf32>, %y: memref<4x100x64xf32>) {
  nest.for "i.1" %i = 0 to 4 {
    nest.for "j.1" %j = 0 to 100 {
      nest.for "k.1" %k = 0 to 64 {
        nest.for "l" %l = 0 to 96 {
          %a = nest.load %x[%i, %j, %l] : memref<4x100x96xf32>
          %b = nest.load %w[%i, %l, %k] : memref<4x96x64xf32>
          %p = arith.mulf %a, %b : f32
          nest.accumulate "y" add %p, %y[%i, %j, %k] : memref<4x100x64xf32>
        }
      }
    }
  }
  func.return
}

// Rows that are not one axis in memory stay apart: no index of a product is a quotient or a remainder.
// CHECK-LABEL: func.func @columns_of_a_stack
// CHECK-NOT:   {{floordiv|mod}}
// CHECK:       nest.for "i" {{.*}} parallel
// CHECK:         vectorized
// CHECK-NOT:   {{floordiv|mod}}
// CHECK:       func.return
func.func @columns_of_a_stack(%x: memref<4x96x100xf32>, %w: memref<96x64xf32>, %y: memref<4x100x64xf32>) {
  nest.for "i" %i = 0 to 4 {
    nest.for "j" %j = 0 to 100 {
      nest.for "k" %k = 0 to 64 {
        nest.for "l" %l = 0 to 96 {
          %a = nest.load %x[%i, %l, %j] : memref<4x96x100xf32>
          %b = nest.load %w[%l, %k] : memref<96x64xf32>
          %p = arith.mulf %a, %b : f32
          nest.accumulate "y" add %p, %y[%i, %j, %k] : memref<4x100x64xf32>
        }
      }
    }
  }
  func.return
}
