// A matrix that serves one sum only is made in tiles; panels of the columns are turned as they are copied,
// and while a tile is summed up the next rows are fetched: term by term, or by lines where vectors are narrow.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s
// RUN: opt-tool %s -p 'nest-schedule-cpu{machine=x86-64-v3 threads=1}' | filecheck %s --check-prefix=NARROW

// CHECK-LABEL: func.func @distances
// CHECK-NOT:   memref<?x?xf32>
// CHECK:       %[[PARTS:.*]] = nest.alloc "s_parts" : memref<64xf32>
// CHECK:       nest.for "j.o.p" %[[P:.*]] = 0 to 64 parallel
// CHECK:         nest.for "j.o" %[[JO:.*]] = %{{.*}} to min({{.*}}, %n ceildiv 64) {
// CHECK:           %[[PANEL:.*]] = nest.alloc "panel" : memref<40x64xf32>
// CHECK:           nest.for "panel.load.ax0" %[[K:.*]] = 0 to 40 {
// CHECK-NEXT:        nest.for "panel.load.ax1" %[[J:.*]] = 0 to min(64, %n - 64 * %[[JO]]) vectorized(64) {
// CHECK-NEXT:          nest.load %x[64 * %[[JO]] + %[[J]], %[[K]]]
// CHECK-NEXT:          nest.store "panel" %{{.*}}, %[[PANEL]][%[[K]], %[[J]]]
// CHECK:           nest.for "i.o" %[[IO:.*]] = 0 to %n ceildiv 24 {
// CHECK-NEXT:        %[[T:.*]] = nest.alloc "t" : memref<24x64xf32>
// CHECK:             nest.for "i.1.i.o" %[[FEW:.*]] = 0 to min(4, %n ceildiv 6 - 4 * %[[IO]]) {
// CHECK-NEXT:          %[[SUMS:.*]] = nest.alloc "sums" : memref<6x64xf32>
// CHECK:               nest.for "k" %[[K:.*]] = 0 to 40 {
// CHECK-NEXT:            nest.for "i.1.i.i" %[[I:.*]] = 0 to 6 unrolled {
// CHECK-NEXT:              nest.for "j.1.i" %[[J:.*]] = 0 to {{.*}} vectorized(64) {
// CHECK-NEXT:                nest.prefetch %x[24 * %[[IO]] + 6 * %[[FEW]] + %[[I]] + 6, %[[K]]]
// CHECK-NEXT:                nest.load %x[24 * %[[IO]] + 6 * %[[FEW]] + %[[I]], %[[K]]]
// CHECK-NEXT:                nest.load %[[PANEL]][%[[K]], %[[J]]]
// CHECK:                     nest.accumulate "t" add %{{.*}}, %[[SUMS]][%[[I]], %[[J]]] where
// CHECK:               nest.for "sums.back.ax0"
// CHECK:             nest.for "i.2.at"
// CHECK-NEXT:          nest.for "j.2.at" {{.*}} vectorized(64) {
// CHECK:                 math.exp
// CHECK:             nest.for "i.3.at"
// CHECK-NEXT:          nest.for "j.3.at.i" %[[J:.*]] = 0 to 64 vectorized(64) {
// CHECK:                 nest.accumulate "s" add %{{.*}}, %[[LANES:.*]][%[[J]]] where (64 * %[[JO]] + %[[J]] < %n)
// CHECK:             nest.for "j.3.at.i.combine" {{.*}} vectorized(64) {
// CHECK:           nest.for "j.3.at.i.combine.combine"
// CHECK:             nest.accumulate "s" add %{{.*}}, %[[PARTS]][%[[P]]]
// CHECK:       nest.for "j.o.combine"
// CHECK:         nest.accumulate "s" add %{{.*}}, %s[]
// NARROW-LABEL: func.func @distances
// NARROW-NOT:  parallel
// NARROW:      nest.for "i.1.i.o" %[[FEW:.*]] = 0 to
// NARROW-NEXT:   nest.prefetch %x[{{.*}} + 6 * %[[FEW]] + 6, 0]
// NARROW-NEXT:   nest.prefetch %x[{{.*}} + 6 * %[[FEW]] + 6, 16]
// NARROW:      nest.alloc "sums" : memref<6x16xf32>
func.func @distances(%x: memref<?x40xf32>, %s: memref<f32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x40xf32>
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t"(%n, %n) : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %n {
      nest.store "t" %zero, %t[%i, %j] : memref<?x?xf32>
    }
  }
  nest.for "i.1" %i = 0 to %n {
    nest.for "j.1" %j = 0 to %n {
      nest.for "k" %k = 0 to 40 {
        %a = nest.load %x[%i, %k] : memref<?x40xf32>
        %b = nest.load %x[%j, %k] : memref<?x40xf32>
        %d = arith.subf %a, %b : f32
        %p = arith.mulf %d, %d : f32
        nest.accumulate "t" add %p, %t[%i, %j] : memref<?x?xf32>
      }
    }
  }
  nest.for "i.2" %i = 0 to %n {
    nest.for "j.2" %j = 0 to %n {
      %a = nest.load %t[%i, %j] : memref<?x?xf32>
      %e = math.exp %a : f32
      nest.store "t" %e, %t[%i, %j] : memref<?x?xf32>
    }
  }
  nest.store "s" %zero, %s[] : memref<f32>
  nest.for "i.3" %i = 0 to %n {
    nest.for "j.3" %j = 0 to %n {
      %a = nest.load %t[%i, %j] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
  }
  func.return
}

// A product whose other operand lies by columns, and a largest element: panels are copied as they are.
// CHECK-LABEL: func.func @largest
// CHECK:       nest.alloc "panel" : memref<100x32xf64>
// CHECK:       nest.load %b[%{{.*}}, 32 * %{{.*}} + %{{.*}}]
// CHECK:       nest.accumulate "m" maximum
// NARROW-LABEL: func.func @largest
func.func @largest(%a: memref<60x100xf64>, %b: memref<100x90xf64>, %m: memref<f64>) {
  %zero = arith.constant 0.0 : f64
  %t = nest.alloc "t" : memref<60x90xf64>
  nest.for "i" %i = 0 to 60 {
    nest.for "j" %j = 0 to 90 {
      nest.store "t" %zero, %t[%i, %j] : memref<60x90xf64>
    }
  }
  nest.for "i.1" %i = 0 to 60 {
    nest.for "j.1" %j = 0 to 90 {
      nest.for "k" %k = 0 to 100 {
        %x = nest.load %a[%i, %k] : memref<60x100xf64>
        %y = nest.load %b[%k, %j] : memref<100x90xf64>
        %p = arith.mulf %x, %y : f64
        nest.accumulate "t" add %p, %t[%i, %j] : memref<60x90xf64>
      }
    }
  }
  nest.for "i.2" %i = 0 to 60 {
    nest.for "j.2" %j = 0 to 90 {
      %x = nest.load %t[%i, %j] : memref<60x90xf64>
      nest.accumulate "m" maximum %x, %m[] : memref<f64>
    }
  }
  func.return
}

// The matrix serves something else as well: it is made whole.
// CHECK-LABEL: func.func @kept
// CHECK:       %[[T:.*]] = nest.alloc "t" : memref<60x90xf64>
// CHECK-NOT:   nest.alloc "s_parts"
// CHECK:       nest.for "c"
// CHECK:         nest.load %[[T]]
func.func @kept(%a: memref<60x100xf64>, %b: memref<100x90xf64>, %s: memref<f64>, %o: memref<90xf64>) {
  %zero = arith.constant 0.0 : f64
  %t = nest.alloc "t" : memref<60x90xf64>
  nest.for "i" %i = 0 to 60 {
    nest.for "j" %j = 0 to 90 {
      nest.store "t" %zero, %t[%i, %j] : memref<60x90xf64>
    }
  }
  nest.for "i.1" %i = 0 to 60 {
    nest.for "j.1" %j = 0 to 90 {
      nest.for "k" %k = 0 to 100 {
        %x = nest.load %a[%i, %k] : memref<60x100xf64>
        %y = nest.load %b[%k, %j] : memref<100x90xf64>
        %p = arith.mulf %x, %y : f64
        nest.accumulate "t" add %p, %t[%i, %j] : memref<60x90xf64>
      }
    }
  }
  nest.for "i.2" %i = 0 to 60 {
    nest.for "j.2" %j = 0 to 90 {
      %x = nest.load %t[%i, %j] : memref<60x90xf64>
      nest.accumulate "s" add %x, %s[] : memref<f64>
    }
  }
  nest.for "c" %j = 0 to 15 {
    %x = nest.load %t[5, %j] : memref<60x90xf64>
    nest.store "o" %x, %o[%j] : memref<90xf64>
  }
  func.return
}
