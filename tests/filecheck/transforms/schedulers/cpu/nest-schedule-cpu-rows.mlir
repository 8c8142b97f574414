// While a row is computed the next one is fetched: what is read in the second pass, what is written in the last, a line at a time.
// RUN: opt-tool %s -p nest-schedule-cpu --split-input-file | filecheck %s

// CHECK-LABEL: @rows
// CHECK: nest.for "i" [[I:%\S+]] = 0 to 4096 parallel
// CHECK: nest.for "j.o"
// CHECK-NOT: nest.prefetch
// CHECK: nest.for "j.1.o" [[O:%\S+]] = 0 to 16
// CHECK-NEXT: nest.for "j.1.i" [[V:%\S+]] = 0 to 64 vectorized(64)
// CHECK-NEXT: nest.prefetch %x{{\[}}[[I]] + 1, 64 * [[O]] + [[V]]] : memref<4096x1024xf32>
// CHECK: nest.prefetch %y{{\[}}[[I]] + 1, 64 * [[O]] + [[V]]] {nestor.write} : memref<4096x1024xf32>
// CHECK-NEXT: nest.store
// CHECK-NOT: nest.prefetch
func.func @rows(%x: memref<4096x1024xf32>, %w: memref<1024xf32>, %y: memref<4096x1024xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 4096 {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to 1024 {
      %a = nest.load %x[%i, %j] : memref<4096x1024xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
    %t = nest.load %s[] : memref<f32>
    nest.for "j.1" %j = 0 to 1024 {
      %a = nest.load %x[%i, %j] : memref<4096x1024xf32>
      %b = nest.load %w[%j] : memref<1024xf32>
      %c = arith.mulf %b, %t : f32
      %d = arith.addf %a, %c : f32
      nest.store "y" %d, %y[%i, %j] : memref<4096x1024xf32>
    }
  }
  func.return
}

// -----

// Rows of 256 bytes are fetched a page ahead, of any number of rows. What the caches hold, and parts of rows of unknown length,
// are not.
// CHECK-LABEL: @short
// CHECK: nest.prefetch %x[%{{.*}} + 16, %{{.*}}] : memref<?x64xf32>
// CHECK-NOT: nest.prefetch
// CHECK: func.return
func.func @short(%x: memref<?x64xf32>, %small: memref<256x64xf32>, %k: memref<256x?xf32>, %y: memref<65536xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 256 {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to 64 {
      %a = nest.load %x[%i, %j] : memref<?x64xf32>
      %b = nest.load %small[%i, %j] : memref<256x64xf32>
      %c = arith.mulf %a, %b : f32
      nest.accumulate "s" add %c, %s[] : memref<f32>
    }
    %m = nest.load %s[] : memref<f32>
    nest.store "y" %zero, %y[%i] : memref<65536xf32>
    nest.for "j.1" %j = 0 to 64 {
      %a = nest.load %k[%i, %j] : memref<256x?xf32>
      %b = arith.mulf %a, %m : f32
      nest.accumulate "y" add %b, %y[%i] : memref<65536xf32>
    }
  }
  func.return
}

// -----

// Where only the run knows how long rows are, a pass fetches what is a page ahead of it: the next row, or part of this one.
// CHECK-LABEL: @of_any_length
// CHECK: nest.for "i" [[I:%\S+]] = 0 to %n parallel
// CHECK: nest.for "j.o"
// CHECK-NOT: nest.prefetch
// CHECK: nest.for "j.1.o" [[O:%\S+]] = 0 to %m floordiv 64
// CHECK-NEXT: nest.for "j.1.i" [[V:%\S+]] = 0 to 64 vectorized(64)
// CHECK-NEXT: nest.prefetch %x{{\[}}[[I]], 64 * [[O]] + [[V]] + 1024] : memref<?x?xf32>
// CHECK: nest.prefetch %y{{\[}}[[I]], 64 * [[O]] + [[V]] + 1024] {nestor.write} : memref<?x?xf32>
// CHECK-NEXT: nest.store
// CHECK-NOT: nest.prefetch
func.func @of_any_length(%x: memref<?x?xf32> {nest.dims = ["n", "m"]},
                         %y: memref<?x?xf32> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  nest.for "i" %i = 0 to %n {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      nest.accumulate "s" maximum %a, %s[] : memref<f32>
    }
    %t = nest.load %s[] : memref<f32>
    nest.for "j.1" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      %d = arith.addf %a, %t : f32
      nest.store "y" %d, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}
