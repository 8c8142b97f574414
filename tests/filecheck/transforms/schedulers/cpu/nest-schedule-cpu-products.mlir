// Products of matrices on the CPU: blocks for threads, panels of both operands, tiles of sums in registers.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s
// RUN: opt-tool %s -p nest-schedule-cpu{machine=x86-64-v3} | filecheck %s --check-prefix=NARROW

// CHECK-LABEL: func.func @matmul
// CHECK:       nest.for "product" %{{.*}} = 0 to 1 {
// CHECK:         %[[P:.*]] = nest.alloc "panel"(%{{.*}}, %k) : memref<?x?x16xf64>
// CHECK:         nest.for "panel.load.ax1.o.o" {{.*}} parallel
// CHECK:           nest.for "panel.load.ax0"
// CHECK:             nest.for "panel.load.ax1.i" {{.*}} vectorized(16)
// CHECK:         nest.for "i.o" %[[IB:.*]] = 0 to %m ceildiv 56 parallel
// CHECK:           nest.for "k.o" %[[KO:.*]] = 0 to %k ceildiv 512 {
// CHECK:             %[[A:.*]] = nest.alloc "panel.1" : memref<4x512x14xf64>
// CHECK:             nest.for "j.o" %[[JO:.*]] = 0 to %n ceildiv 16 {
// CHECK:               nest.for "i.i.o" %[[IO:.*]] = 0 to min(4, {{.*}}) {
// CHECK:                 %[[S:.*]] = nest.alloc "sums" : memref<14x16xf64>
// CHECK:                 nest.for "sums.init.ax0" {{.*}} unrolled
// CHECK:                 nest.for "k.i" %[[KI:.*]] = 0 to min(512, %k - 512 * %[[KO]]) {
// CHECK:                   nest.prefetch %[[P]][%[[JO]], 512 * %[[KO]] + %[[KI]] + 24, 8]
// CHECK-NEXT:              nest.for "i.i.i" %[[I:.*]] = 0 to 14 unrolled {
// CHECK-NEXT:                nest.for "j.i" %[[J:.*]] = 0 to 16 vectorized(16) {
// CHECK-NEXT:                  nest.load %[[A]][%[[IO]], %[[KI]], %[[I]]]
// CHECK-NEXT:                  nest.load %[[P]][%[[JO]], 512 * %[[KO]] + %[[KI]], %[[J]]]
// CHECK:                       nest.accumulate "c" add %{{.*}}, %[[S]][%[[I]], %[[J]]] where
// CHECK:                 nest.for "sums.back.ax0"
// CHECK:                   nest.for "sums.back.ax1" {{.*}} vectorized(16)
// NARROW-LABEL: func.func @matmul
// NARROW:      nest.for "i.i.i" %{{.*}} = 0 to 6 unrolled
// NARROW-NEXT:   nest.for "j.i" %{{.*}} = 0 to 8 vectorized(8)
func.func @matmul(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %c, %c0 : memref<?x?xf64>
  %n = memref.dim %c, %c1 : memref<?x?xf64>
  %k = memref.dim %a, %c1 : memref<?x?xf64>
  nest.for "i" %i = 0 to %m {
    nest.for "j" %j = 0 to %n {
      nest.for "k" %l = 0 to %k {
        %x = nest.load %a[%i, %l] : memref<?x?xf64>
        %y = nest.load %b[%l, %j] : memref<?x?xf64>
        %p = arith.mulf %x, %y : f64
        nest.accumulate "c" add %p, %c[%i, %j] : memref<?x?xf64>
      }
    }
  }
  func.return
}

// The other operand by rows: its panels are turned as they are copied. Few rows: threads share the columns.
// CHECK-LABEL: func.func @by_rows
// CHECK:       nest.for "j.o" %[[JB:.*]] = 0 to 2 parallel
// CHECK:         nest.for "panel.load.ax1.i" %[[K:.*]] = 0 to min(16, {{.*}}) unrolled
// CHECK:           nest.for "panel.load.ax0.i" %[[C:.*]] = 0 to min(16, {{.*}}) vectorized(16)
// CHECK:             nest.load %b[64 * %[[JB]] + 16 * %{{.*}} + %[[C]], 16 * %{{.*}} + %[[K]]]
// CHECK:             nest.store "panel" %{{.*}}, %{{.*}}, %[[C]]] : memref<4x300x16xf64>
func.func @by_rows(%a: memref<64x300xf64>, %b: memref<70x300xf64>, %c: memref<64x70xf64>) {
  nest.for "i" %i = 0 to 64 {
    nest.for "j" %j = 0 to 70 {
      nest.for "k" %l = 0 to 300 {
        %x = nest.load %a[%i, %l] : memref<64x300xf64>
        %y = nest.load %b[%j, %l] : memref<70x300xf64>
        %p = arith.mulf %x, %y : f64
        nest.accumulate "c" add %p, %c[%i, %j] : memref<64x70xf64>
      }
    }
  }
  func.return
}

// A stack of products is shared among threads by its first axis; distances are tiled like products.
// CHECK-LABEL: func.func @distances
// CHECK:       nest.for "s" {{.*}} parallel
// CHECK:           nest.for "i.i" %{{.*}} = 0 to 13 unrolled
func.func @distances(%a: memref<100x64x64xf32>, %b: memref<100x64x64xf32>, %c: memref<100x64x64xf32>) {
  nest.for "s" %s = 0 to 100 {
    nest.for "i" %i = 0 to 64 {
      nest.for "j" %j = 0 to 64 {
        nest.for "k" %l = 0 to 64 {
          %x = nest.load %a[%s, %i, %l] : memref<100x64x64xf32>
          %y = nest.load %b[%s, %l, %j] : memref<100x64x64xf32>
          %d = arith.subf %x, %y : f32
          %p = arith.mulf %d, %d : f32
          nest.accumulate "c" add %p, %c[%s, %i, %j] : memref<100x64x64xf32>
        }
      }
    }
  }
  func.return
}

// Narrow numbers are converted where they are copied, a cheap matrix in between is not made, nor sums that a cast uses.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT:   memref<40x300xf32>
// CHECK:       %[[B:.*]] = nest.alloc "panel{{.*}}" : memref<{{.*}}xf32>
// CHECK:         %[[Y:.*]] = nest.load %b[{{.*}}] : memref<300x224xf16>
// CHECK-NEXT:    %[[F:.*]] = arith.extf %[[Y]]
// CHECK-NEXT:    nest.store "panel{{.*}}" %[[F]], %[[B]]
// CHECK:         nest.for "k" %{{.*}} = 0 to 300 {
// CHECK:           nest.load %{{.*}} : memref<{{.*}}xf32>
// CHECK-NEXT:      nest.load %{{.*}} : memref<{{.*}}xf32>
// CHECK-NEXT:      arith.mulf
// CHECK:         arith.truncf
// CHECK-NOT:   memref<40x224xf32>
// CHECK:       func.return
func.func @narrow(%a: memref<40x300xf16>, %b: memref<300x224xf16>, %c: memref<40x224xf16> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %wide = nest.alloc "wide" : memref<40x300xf32>
  %sums = nest.alloc "t" : memref<40x224xf32>
  nest.for "p" %p = 0 to 40 {
    nest.for "q" %q = 0 to 300 {
      %x = nest.load %a[%p, %q] : memref<40x300xf16>
      %w = arith.extf %x : f16 to f32
      nest.store "wide" %w, %wide[%p, %q] : memref<40x300xf32>
    }
  }
  nest.for "i" %i = 0 to 40 {
    nest.for "j" %j = 0 to 224 {
      nest.store "t" %zero, %sums[%i, %j] : memref<40x224xf32>
    }
  }
  nest.for "i.1" %i = 0 to 40 {
    nest.for "j.1" %j = 0 to 224 {
      nest.for "k" %l = 0 to 300 {
        %x = nest.load %wide[%i, %l] : memref<40x300xf32>
        %y = nest.load %b[%l, %j] : memref<300x224xf16>
        %w = arith.extf %y : f16 to f32
        %p = arith.mulf %x, %w : f32
        nest.accumulate "t" add %p, %sums[%i, %j] : memref<40x224xf32>
      }
    }
  }
  nest.for "i.2" %i = 0 to 40 {
    nest.for "j.2" %j = 0 to 224 {
      %s = nest.load %sums[%i, %j] : memref<40x224xf32>
      %h = arith.truncf %s : f32 to f16
      nest.store "c" %h, %c[%i, %j] : memref<40x224xf16>
    }
  }
  func.return
}

// No tiles: too few terms; an order that must be kept; a sum over two loops of one operand only.
// CHECK-LABEL: func.func @others
// CHECK-NOT:   "panel"
// CHECK-NOT:   "sums"
// CHECK:       func.return
func.func @others(%a: memref<64x4xf64>, %b: memref<4x64xf64>, %c: memref<64x64xf64>, %d: memref<64x64xf64>) {
  nest.for "i" %i = 0 to 64 {
    nest.for "j" %j = 0 to 64 {
      nest.for "k" %l = 0 to 4 {
        %x = nest.load %a[%i, %l] : memref<64x4xf64>
        %y = nest.load %b[%l, %j] : memref<4x64xf64>
        %p = arith.mulf %x, %y : f64
        nest.accumulate "c" add %p, %c[%i, %j] : memref<64x64xf64>
      }
    }
  }
  nest.for "i.1" %i = 0 to 64 {
    nest.for "j.1" %j = 0 to 64 {
      nest.for "k.1" %l = 0 to 64 {
        %x = nest.load %c[%i, %l] : memref<64x64xf64>
        %y = nest.load %c[%l, %j] : memref<64x64xf64>
        %p = arith.mulf %x, %y : f64
        nest.accumulate "d" add %p, %d[%i, %j] order(sequential) : memref<64x64xf64>
      }
    }
  }
  func.return
}

// A sum over two axes that are one in memory, of both factors, is a product, not a convolution: the gradient of weights.
// CHECK-LABEL: func.func @two_axes_of_terms
// CHECK-DAG:   %[[X:.*]] = memref.collapse_shape %x {{.*}} into memref<400x96xf32>
// CHECK-DAG:   %[[Y:.*]] = memref.collapse_shape %y {{.*}} into memref<400x256xf32>
// CHECK:       nest.for "product"
// CHECK:         nest.load %[[X]][
// CHECK:         nest.for "j.o" {{.*}} parallel
// CHECK:           nest.load %[[Y]][
// CHECK:           nest.for "k_l"
// CHECK:       func.return
func.func @two_axes_of_terms(%x: memref<4x100x96xf32>, %y: memref<4x100x256xf32>, %w: memref<96x256xf32>) {
  nest.for "i" %i = 0 to 96 {
    nest.for "j" %j = 0 to 256 {
      nest.for "k" %k = 0 to 4 {
        nest.for "l" %l = 0 to 100 {
          %a = nest.load %x[%k, %l, %i] : memref<4x100x96xf32>
          %b = nest.load %y[%k, %l, %j] : memref<4x100x256xf32>
          %p = arith.mulf %a, %b : f32
          nest.accumulate "w" add %p, %w[%i, %j] : memref<96x256xf32>
        }
      }
    }
  }
  func.return
}
