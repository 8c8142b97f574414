// Vectors inside, threads outside, as far as dependences and memory allow; what is not done is said in a remark.
// RUN: opt-tool %s -p nest-schedule-cpu --split-input-file --verify-diagnostics | filecheck %s
// RUN: opt-tool %s -p 'nest-schedule-cpu{threads=1 vector-bits=128}' --split-input-file | filecheck %s --check-prefix=NARROW

// CHECK-LABEL: @pointwise
// CHECK: nest.for "i_j.o" {{%\S+}} = 0 to 15609 parallel attributes {nestor.grain = {{[0-9]+}} : i64} {
// CHECK-NEXT: nest.for "i_j.i" {{%\S+}} = 0 to 64 vectorized(64) {
// CHECK: nest.for "i_j.t" {{%\S+}} = 0 to 24 vectorized(32) {
// NARROW-LABEL: @pointwise
// NARROW: nest.for "i_j.o" {{%\S+}} = 0 to 62437 {
// NARROW-NEXT: nest.for "i_j.i" {{%\S+}} = 0 to 16 vectorized(16) {
func.func @pointwise(%x: memref<999x1000xf32>, %y: memref<999x1000xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 999 {
    nest.for "j" %j = 0 to 1000 {
      %v = nest.load %x[%i, %j] : memref<999x1000xf32>
      nest.store "y" %v, %y[%i, %j] : memref<999x1000xf32>
    }
  }
  func.return
}

// -----

// A symbolic extent, from a lower bound that is not zero; 8 lanes of f64.
// CHECK-LABEL: @symbolic
// CHECK: nest.for "i.o" {{%\S+}} = 0 to (%n - 1) floordiv 32 parallel
// CHECK-NEXT: nest.for "i.i" {{%\S+}} = 0 to 32 vectorized(32) {
// CHECK: nest.for "i.t" {{.*}} vectorized(32) {
func.func @symbolic(%n: index, %x: memref<?xf64>, %y: memref<?xf64> {nest.role = "out"}) {
  nest.for "i" %i = 1 to %n {
    %v = nest.load %x[%i] : memref<?xf64>
    nest.store "y" %v, %y[%i - 1] : memref<?xf64>
  }
  func.return
}

// -----

// Big arrays are fetched ahead: 512 elements, 2 KiB, the result for writing.
// CHECK-LABEL: @streaming
// CHECK: nest.prefetch %x[64 * [[O:%\S+]] + [[V:%\S+]] + 512] : memref
// CHECK-NEXT: nest.load
// CHECK-NEXT: nest.prefetch %y[64 * [[O]] + [[V]] + 512] {nestor.write}
// CHECK-NEXT: nest.store "y" {{.*}}] : memref
func.func @streaming(%x: memref<10000000xf32>, %y: memref<10000000xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 10000000 {
    %v = nest.load %x[%i] : memref<10000000xf32>
    nest.store "y" %v, %y[%i] : memref<10000000xf32>
  }
  func.return
}

// -----

// Rows are shared; a long sum has two levels of 64 accumulators, so that its error does not grow with its length.
// CHECK-LABEL: @row_sums
// CHECK: nest.for "i" {{%\S+}} = 0 to %n parallel
// CHECK: [[TOTAL:%\S+]] = nest.alloc "s_lanes" : memref<64xf32>
// CHECK: nest.for "j.o.o"
// CHECK: [[BLOCK:%\S+]] = nest.alloc "s_lanes" : memref<64xf32>
// CHECK: nest.for "j.o.i" {{%\S+}} = 0 to min(32, {{.*}}) {
// CHECK-NEXT: nest.for "j.i" {{%\S+}} = 0 to 64 vectorized(64) {
// CHECK: nest.accumulate "s" add {{%\S+}}, [[BLOCK]]
// CHECK: nest.for "j.i.combine" {{%\S+}} = 0 to 64 vectorized(64) {
// CHECK: nest.accumulate "s" add {{%\S+}}, [[TOTAL]]
// CHECK: nest.for "j.i.combine.combine" {{%\S+}} = 0 to 64 vectorized(64) {
// CHECK: nest.accumulate "s" add {{%\S+}}, %s[%i]
// CHECK: nest.for "j.t" {{%\S+}} = 0 to %m mod 64 vectorized(64) {
func.func @row_sums(%x: memref<?x?xf32>, %s: memref<?xf32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    nest.store "s" %zero, %s[%i] : memref<?xf32>
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[%i] : memref<?xf32>
    }
  }
  func.return
}

// -----

// Sums over columns: with many rows threads share these, with fewer they share strips of columns. The columns are the lanes,
// around a few rows at a time.
// CHECK-LABEL: @column_sums
// CHECK: nest.if
// CHECK: nest.for "i.1.p" {{%\S+}} = 0 to 16 parallel
// CHECK: } else {
// CHECK: nest.for "j.o" {{%\S+}} = 0 to %m ceildiv 256 parallel
// CHECK-NEXT: nest.for "i.o" {{%\S+}} = 0 to %n ceildiv 8 {
// CHECK: nest.for "j.i.i" {{%\S+}} = 0 to 64 vectorized(64) {
// CHECK-NEXT: nest.for "i.i" {{%\S+}} = 0 to min(8, %n - 8 * {{%\S+}}) {
// CHECK: nest.accumulate "s" add
func.func @column_sums(%n: index, %m: index, %x: memref<?x?xf32>, %s: memref<?xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<?xf32>
    }
  }
  func.return
}

// -----

// Two copies, one of them transposed, are contiguous along one loop here and along the other there: tiles.
// CHECK-LABEL: @both_ways
// CHECK: nest.for "i.o" {{%\S+}} = 0 to %n ceildiv 32 parallel
// CHECK-NEXT: nest.for "j.o"
// CHECK-NEXT: nest.for "i.i"
// CHECK-NEXT: nest.for "j.i"
func.func @both_ways(%n: index, %m: index, %x: memref<?x?xf32>, %y: memref<?x?xf32> {nest.role = "out"}, %z: memref<?x?xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %v = nest.load %x[%i, %j] : memref<?x?xf32>
      nest.store "y" %v, %y[%i, %j] : memref<?x?xf32>
      nest.store "z" %v, %z[%j, %i] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// CHECK-LABEL: @recurrence
// CHECK: nest.for "i" {{%\S+}} = 1 to %n {
func.func @recurrence(%n: index, %a: memref<?xf64>) {
  // expected-remark @below {{the loop "i" stays scalar: cannot vectorize the loop "i": a flow dependence on "a" is carried by the loop "i"}}
  nest.for "i" %i = 1 to %n {
    // expected-note @below {{reads the same element in a later one}}
    %p = nest.load %a[%i - 1] : memref<?xf64>
    // expected-note @below {{writes "a" in an earlier iteration of "i"}}
    nest.store "a" %p, %a[%i] : memref<?xf64>
  }
  func.return
}

// -----

// Checks that can fail keep program order; the loop inside that has none is vectorized.
// CHECK-LABEL: @checked
// CHECK: nest.for "i" {{%\S+}} = 0 to %n {
// CHECK: nest.for "j.i" {{%\S+}} = 0 to 64 vectorized(64) {
func.func @checked(%n: index, %m: index, %x: memref<?x100xf32>, %y: memref<?x100xf32>) {
  // expected-remark @below {{the loop "i" runs on one thread: cannot parallelize the loop "i": an operation in it can stop the kernel}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{this check can fail}}
    %k = nest.index %i of %m axis 0 of "y"
    nest.for "j" %j = 0 to 100 {
      %v = nest.load %x[%k, %j] : memref<?x100xf32>
      nest.store "y" %v, %y[%k, %j] : memref<?x100xf32>
    }
  }
  func.return
}

// -----

// The iterations of a loop by twos meet every other element: no vectors, for the accesses are not contiguous.
// CHECK-LABEL: @every_other
// CHECK-NOT: vectorized
func.func @every_other(%x: memref<1000xf64> {nest.role = "inout"}, %y: memref<1000xf64>) {
  // expected-remark @below {{the loop "i" stays scalar: 2 accesses are not contiguous, and there is little to compute}}
  nest.for "i" %i = 1 to 1000 step 2 {
    %v = nest.load %y[%i - 1] : memref<1000xf64>
    nest.store "x" %v, %x[%i] : memref<1000xf64>
  }
  func.return
}

// -----

// A product as loops with a variable, sums in order: the columns become vectors, with an element of the variable a lane.
// CHECK-LABEL: @sum_in_a_variable
// CHECK: nest.for "j.o" {{%\S+}} = 0 to 2 {
// CHECK-NEXT: [[S:%\S+]] = nest.alloc "s" : memref<32xf64>
// CHECK-NEXT: nest.for "j.i" [[J:%\S+]] = 0 to 32 vectorized(32) {
// CHECK: nest.store "s" {{%\S+}}, [[S]][[[J]]]
// CHECK: nest.for "k"
// CHECK: nest.load [[S]][[[J]]]
// CHECK: nest.alloc "s.1" : memref<6xf64>
// CHECK: nest.for "j.t" {{%\S+}} = 0 to 6 vectorized(8) {
func.func @sum_in_a_variable(%a: memref<50x60xf64>, %b: memref<60x70xf64>, %c: memref<50x70xf64> {nest.role = "inout"}) {
  %zero = arith.constant 0.0 : f64
  nest.for "i" %i = 0 to 50 {
    nest.for "j" %j = 0 to 70 {
      %s = nest.alloc "s" : memref<f64>
      nest.store "s" %zero, %s[] : memref<f64>
      nest.for "k" %k = 0 to 60 {
        %0 = nest.load %s[] : memref<f64>
        %1 = nest.load %a[%i, %k] : memref<50x60xf64>
        %2 = nest.load %b[%k, %j] : memref<60x70xf64>
        %3 = arith.mulf %1, %2 : f64
        %4 = arith.addf %0, %3 : f64
        nest.store "s" %4, %s[] : memref<f64>
      }
      %5 = nest.load %s[] : memref<f64>
      nest.store "c" %5, %c[%i, %j] : memref<50x70xf64>
    }
  }
  func.return
}

// -----

// An element that the inner loop updates in each iteration is kept in registers meanwhile.
// CHECK-LABEL: @sum_in_memory
// CHECK: [[ACC:%\S+]] = nest.alloc "c_acc" : memref<32xf64>
// CHECK: nest.for "j.i" {{%\S+}} = 0 to 32 vectorized(32) {
// CHECK: nest.for "k"
// CHECK-NEXT: nest.load [[ACC]]
// CHECK-NOT: %c[
// CHECK: }
// CHECK-NEXT: nest.load [[ACC]]
// CHECK-NEXT: nest.store "c" {{.*}} %c[
func.func @sum_in_memory(%a: memref<50x60xf64>, %b: memref<60x64xf64>, %c: memref<50x64xf64> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 50 {
    nest.for "j" %j = 0 to 64 {
      nest.for "k" %k = 0 to 60 {
        %0 = nest.load %c[%i, %j] : memref<50x64xf64>
        %1 = nest.load %a[%i, %k] : memref<50x60xf64>
        %2 = nest.load %b[%k, %j] : memref<60x64xf64>
        %3 = arith.mulf %1, %2 : f64
        %4 = arith.addf %0, %3 : f64
        nest.store "c" %4, %c[%i, %j] : memref<50x64xf64>
      }
    }
  }
  func.return
}
