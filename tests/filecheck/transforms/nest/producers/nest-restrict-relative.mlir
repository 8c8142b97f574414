// nest-restrict-relative: a part of a reduction, and of the sum relative to it.
// RUN: opt-tool %s -p 'nest-restrict-relative{func=deviations update=i relative=k}' | filecheck %s --check-prefix=CHECK
// RUN: opt-tool %s -p 'nest-restrict-relative{func=below update=i relative=k}' | filecheck %s --check-prefix=EXTREME

// A mean and the squares around it: a part has its own mean, and says how many terms it has.
// CHECK:      func.func @deviations(%x: memref<?x?xf64> {nest.dims = ["x_0.part", "m"]}, %lo: index, %hi: index,
// CHECK-SAME:   %q: memref<?xf64> {nest.role = "out", nest.dims = ["m"]}
// CHECK-SAME:   %power: memref<?xf64> {nest.role = "out", nest.dims = ["m"]}, %count: memref<?xf64> {nest.role = "out",
// CHECK:        nest.for "i" %i = %lo to %hi {
// CHECK:            nest.accumulate "s" add %{{.*}}, %s[%j]
// CHECK:        nest.store "q" %{{.*}}, %q[
// CHECK:        nest.for "base.0"
// CHECK-NEXT:     nest.store "count" %[[COUNT:.*]], %count[
// CHECK-NEXT:     %[[S:.*]] = nest.load %s[
// CHECK-NEXT:     %[[MEAN:.*]] = arith.divf %[[S]], %[[COUNT]] : f64
// CHECK-NEXT:     nest.store "base" %[[MEAN]], %base[
// CHECK:        nest.for "k" %k = %lo to %hi {
// CHECK:            %[[B:.*]] = nest.load %base[
// CHECK-NEXT:       %[[D:.*]] = arith.subf %{{.*}}, %[[B]] : f64
// CHECK-NEXT:       %[[E:.*]] = arith.mulf %[[D]], %[[D]] : f64
// CHECK-NEXT:       nest.accumulate "power" add %[[D]], %power[
// CHECK-NEXT:       nest.accumulate "q" add %[[E]], %q[
func.func @deviations(%x: memref<?x?xf64> {nest.dims = ["n", "m"]}, %q: memref<?xf64> {nest.role = "out", nest.dims = ["m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  %int = arith.index_cast %n : index to i64
  %number = arith.sitofp %int : i64 to f64
  %s = nest.alloc "s"(%m) : memref<?xf64>
  nest.for "s0" %j = 0 to %m {
    nest.store "s" %zero, %s[%j] : memref<?xf64>
  }
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      nest.accumulate "s" add %a, %s[%j] : memref<?xf64>
    }
  }
  nest.for "q0" %j = 0 to %m {
    nest.store "q" %zero, %q[%j] : memref<?xf64>
  }
  nest.for "k" %k = 0 to %n {
    nest.for "l" %l = 0 to %m {
      %a = nest.load %x[%k, %l] : memref<?x?xf64>
      %b = nest.load %s[%l] : memref<?xf64>
      %mean = arith.divf %b, %number : f64
      %d = arith.subf %a, %mean : f64
      %e = arith.mulf %d, %d : f64
      nest.accumulate "q" add %e, %q[%l] : memref<?xf64>
    }
  }
  func.return
}

// Exponentials of what is below a maximum: the number of terms says nothing.
// EXTREME:     func.func @below
// EXTREME-NOT:   %count
// EXTREME:       nest.accumulate "s" maximum %{{.*}}, %s[]
// EXTREME:       arith.maxnumf
// EXTREME:       arith.minnumf
// EXTREME-NEXT:  nest.store "base" %{{.*}}, %base[]
// EXTREME:       nest.for "k" %k = %lo to %hi {
// EXTREME:         nest.accumulate "q" add %{{.*}}, %q[]
func.func @below(%x: memref<?xf32> {nest.dims = ["n"]}, %q: memref<f32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xff800000 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %s = nest.alloc "s" : memref<f32>
  nest.store "s" %none, %s[] : memref<f32>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.accumulate "s" maximum %a, %s[] : memref<f32>
  }
  nest.store "q" %zero, %q[] : memref<f32>
  nest.for "k" %k = 0 to %n {
    %a = nest.load %x[%k] : memref<?xf32>
    %b = nest.load %s[] : memref<f32>
    %d = arith.subf %a, %b : f32
    %e = math.exp %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}
