// A loop over steps is the first steps with what is before, a few more of what is carried, and what follows.
// RUN: opt-tool %s -p 'nest-split-steps{count=2}' | filecheck %s

// CHECK-LABEL: func.func @f_before
// CHECK-SAME:    %y: memref<?xf64> {nest.role = "out"
// CHECK-SAME:    %m: memref<f64> {nest.dims = [], nest.role = "out"}
// CHECK:         nest.accumulate "m"
// CHECK:         nest.for "b"
// CHECK:         nest.for "c" {{.*}}
// CHECK:         nest.for "d" {{.*}}
// CHECK:         nest.for "c.1" {{.*}}
// CHECK:         nest.for "d.1" {{.*}}
// CHECK-NOT:     nest.for "e"
// CHECK-LABEL: func.func @f_steps
// CHECK-SAME:    %y_before: memref<?xf64> {nest.dims = ["n"]}
// CHECK-SAME:    %m_before: memref<f64> {nest.dims = []}
// CHECK-SAME:    %s_first: index
// CHECK:         nest.load %m_before[]
// CHECK:         nest.for "y.0"
// CHECK-NEXT:      %[[A:.*]] = nest.load %y_before[
// CHECK-NEXT:      nest.store "y" %[[A]], %y[
// CHECK:         arith.addi %{{.*}}, %s_first : index
// CHECK:         nest.for "c"
// CHECK:         nest.for "d"
// CHECK:         arith.addi %{{.*}}, %s_first : index
// CHECK:         nest.for "c.1"
// CHECK:         nest.for "d.1"
// CHECK-NOT:     nest.for "e"
// CHECK-LABEL: func.func @f_after
// CHECK-NOT:     nest.for "d"
// CHECK:         nest.store "y" %{{.*}}, %y[
// CHECK:         nest.for "e"
func.func @f(%x: memref<?xf64> {nest.dims = ["n"]}, %w: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %m = nest.alloc "m" : memref<f64>
  %zero = arith.constant 0.0 : f64
  nest.store "m" %zero, %m[] : memref<f64>
  nest.for "a" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.accumulate "m" add %a, %m[] : memref<f64>
  }
  %mean = nest.load %m[] : memref<f64>
  nest.for "b" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.store "y" %a, %y[%i] : memref<?xf64>
  }
  %t = nest.alloc "t"(%n) : memref<?xf64>
  nest.for "s" %s = 0 to 20 {
    %k = arith.index_cast %s : index to i64
    %f = arith.sitofp %k : i64 to f64
    nest.for "c" %i = 0 to %n {
      %a = nest.load %y[%i] : memref<?xf64>
      nest.store "t" %a, %t[%i] : memref<?xf64>
    }
    nest.for "d" %i = 1 to %n - 1 {
      %a = nest.load %t[%i - 1] : memref<?xf64>
      %b = nest.load %t[%i + 1] : memref<?xf64>
      %c = arith.addf %a, %b : f64
      %d = arith.mulf %c, %f : f64
      %e = arith.addf %d, %mean : f64
      nest.store "y" %e, %y[%i] : memref<?xf64>
    }
  }
  nest.for "e" %i = 0 to %n {
    %a = nest.load %y[%i] : memref<?xf64>
    %b = nest.load %w[%i] : memref<?xf64>
    %c = arith.mulf %a, %b : f64
    nest.store "y" %c, %y[%i] : memref<?xf64>
  }
  func.return
}

// Few steps stay in their loop.
// CHECK-LABEL: func.func @few
// CHECK:         nest.for "s" %s = 0 to 2
func.func @few(%y: memref<8xf64> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f64
  nest.for "s" %s = 0 to 2 {
    nest.for "c" %i = 0 to 8 {
      nest.store "y" %zero, %y[%i] : memref<8xf64>
    }
  }
  func.return
}
