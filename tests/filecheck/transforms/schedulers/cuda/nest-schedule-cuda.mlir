// RUN: opt-tool %s -p nest-schedule-cuda --split-input-file --verify-diagnostics | filecheck %s
// Loops are bound to blocks and threads as far as dependences allow; what stays serial is said in a remark.

// Contiguous and pointwise: one loop, blocks of 256 threads of two elements, a masked tail.
// CHECK-LABEL: @pointwise
// CHECK: nest.for "i_j.o.o" [[O:%\S+]] = 0 to 196 bind "block.x" {
// CHECK-NEXT: nest.for "i_j.o.i" [[T:%\S+]] = 0 to 256 bind "thread.x" {
// CHECK-NEXT: nest.for "i_j.i" [[V:%\S+]] = 0 to 2 vectorized(2) {
// CHECK: nest.store "y" {{.*}}[512 * [[O]] + 2 * [[T]] + [[V]]] where (256 * [[O]] + [[T]] < 50000)
func.func @pointwise(%x: memref<100x1000xf32>, %y: memref<100x1000xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 100 {
    nest.for "j" %j = 0 to 1000 {
      %v = nest.load %x[%i, %j] : memref<100x1000xf32>
      nest.store "y" %v, %y[%i, %j] : memref<100x1000xf32>
    }
  }
  func.return
}

// -----

// A reduction over rows: one warp a row. A value that is loaded a row is loaded by every thread.
// CHECK-LABEL: @rows
// CHECK: nest.for "i.o" {{%\S+}} = 0 to 125 bind "block.x" {
// CHECK-NEXT: nest.for "i.i" {{%\S+}} = 0 to 8 bind "thread.x" {
// CHECK: nest.for "lane" {{%\S+}} = 0 to 32 bind "lane" {
// CHECK: nest.for "k.o" {{%\S+}} = 0 to 125 bind "block.y" {
// CHECK-NEXT: nest.for "l.o" {{%\S+}} = 0 to 3 bind "block.x" {
// CHECK-NEXT: nest.for "k.i" {{%\S+}} = 0 to 8 bind "thread.y" {
// CHECK-NEXT: nest.for "l.i" {{%\S+}} = 0 to 32 bind "thread.x" {
// CHECK-NEXT: nest.load %s
func.func @rows(%x: memref<1000x77xf32>, %s: memref<1000xf32>, %y: memref<1000x77xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 1000 {
    nest.store "s" %zero, %s[%i] : memref<1000xf32>
    nest.for "j" %j = 0 to 77 {
      %v = nest.load %x[%i, %j] : memref<1000x77xf32>
      nest.accumulate "s" add %v, %s[%i] : memref<1000xf32>
    }
  }
  nest.for "k" %k = 0 to 1000 {
    %t = nest.load %s[%k] : memref<1000xf32>
    nest.for "l" %l = 0 to 77 {
      %v = nest.load %x[%k, %l] : memref<1000x77xf32>
      %q = arith.divf %v, %t : f32
      nest.store "y" %q, %y[%k, %l] : memref<1000x77xf32>
    }
  }
  func.return
}

// -----

// Time steps stay on the host.
// CHECK-LABEL: @jacobi
// CHECK: nest.for "t" {{%\S+}} = 0 to 10 {
// CHECK-NEXT: nest.for "i.o" {{%\S+}} = 0 to 4 bind "block.x" {
// CHECK: nest.for "k.o" {{%\S+}} = 0 to 4 bind "block.x" {
func.func @jacobi(%a: memref<1000xf32>, %b: memref<1000xf32>) {
  // expected-remark @below {{the loop "t" stays on the host, which launches 2 nests in each iteration: cannot bind the loop "t"}}
  nest.for "t" %t = 0 to 10 {
    nest.for "i" %i = 1 to 999 {
      // expected-note @below {{reads "a" in an earlier iteration of "t"}}
      %l = nest.load %a[%i - 1] : memref<1000xf32>
      %r = nest.load %a[%i + 1] : memref<1000xf32>
      %s = arith.addf %l, %r : f32
      nest.store "b" %s, %b[%i] : memref<1000xf32>
    }
    nest.for "k" %k = 1 to 999 {
      %v = nest.load %b[%k] : memref<1000xf32>
      // expected-note @below {{writes the same element in a later one}}
      nest.store "a" %v, %a[%k] : memref<1000xf32>
    }
  }
  func.return
}

// -----

// Gauss-Seidel sweeps depend on themselves in both directions: one thread, and a remark.
// CHECK-LABEL: @gauss_seidel
// CHECK: nest.for "i" {{%\S+}} = 1 to 9 {
// CHECK-NEXT: nest.for "j" {{%\S+}} = 1 to 9 {
func.func @gauss_seidel(%a: memref<10x10xf64>) {
  // expected-remark @below {{the nest "i" runs as one GPU thread, 8 iterations in sequence: cannot bind the loop "i": a flow dependence on "a" is carried by the loop "i"}}
  nest.for "i" %i = 1 to 9 {
    nest.for "j" %j = 1 to 9 {
      // expected-note @below {{reads the same element in a later one}}
      %p = nest.load %a[%i - 1, %j] : memref<10x10xf64>
      %q = nest.load %a[%i, %j - 1] : memref<10x10xf64>
      %r = arith.addf %p, %q : f64
      // expected-note @below {{writes "a" in an earlier iteration of "i"}}
      nest.store "a" %r, %a[%i, %j] : memref<10x10xf64>
    }
  }
  func.return
}

// -----

// A sum in a fixed order has one accumulator; a check stops at the first iteration that fails; a branch on an
// element, around a short loop, is taken by the device.
// CHECK-LABEL: @one_thread
// CHECK-NOT: bind
func.func @one_thread(%x: memref<1000xf32>, %s: memref<f32>, %k: memref<1000xi64>) {
  // expected-remark @below {{dependence on "s" is carried by the loop "i"}}
  nest.for "i" %i = 0 to 1000 {
    %v = nest.load %x[%i] : memref<1000xf32>
    // expected-note @below {{writes "s" in an earlier iteration and reads it again}}
    nest.accumulate "s" add %v, %s[] order(sequential) : memref<f32>
  }
  // expected-remark @below {{an operation in it can stop the kernel}}
  nest.for "j" %j = 0 to 1000 {
    %a = nest.load %k[%j] : memref<1000xi64>
    %b = arith.index_cast %a : i64 to index
    // expected-note @below {{this check can fail}}
    %c = nest.index %b of 1000 axis 0 of "x"
    %v = nest.load %x[%c] : memref<1000xf32>
    nest.store "x" %v, %x[%j] : memref<1000xf32>
  }
  %t = nest.load %s[] : memref<f32>
  %zero = arith.constant 0.0 : f32
  %p = arith.cmpf olt, %t, %zero : f32
  // expected-remark @below {{the loops in this branch run as one GPU thread: it depends on an element of a buffer}}
  nest.if %p {
    nest.for "l" %l = 0 to 50 {
      nest.store "x" %t, %x[%l] : memref<1000xf32>
    }
  }
  func.return
}
