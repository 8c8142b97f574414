// RUN: opt-tool %s -p nest-schedule-cpu --split-input-file | filecheck %s
// RUN: opt-tool %s -p nest-schedule-cpu,convert-nest-to-scf,convert-to-llvm --split-input-file -t llvm-ir | filecheck %s --check-prefix=IR
// Sums whose order is given wait for each other: several rows side by side where rows lie apart, lanes of rows where they are neighbours.

// CHECK-LABEL: @rows
// CHECK: nest.for "i.o" [[O:%\S+]] = 0 to 64
// CHECK: nest.for "j" [[J:%\S+]] = 0 to 256 attributes {nestor.no_slp} {
// CHECK: nest.load %a[4 * [[O]], [[J]]]
// CHECK: nest.load %a[4 * [[O]] + 3, [[J]]]
// CHECK: nest.load %x[[[J]]]
// CHECK-NOT: nest.load %x
// CHECK: func.return
// IR: "nestor-slp"="off"
func.func @rows(%a: memref<256x256xf64>, %x: memref<256xf64>, %y: memref<256xf64> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f64
  nest.for "i" %i = 0 to 256 {
    %s = nest.alloc "s" : memref<f64>
    nest.store "s" %zero, %s[] : memref<f64>
    nest.for "j" %j = 0 to 256 {
      %0 = nest.load %s[] : memref<f64>
      %1 = nest.load %a[%i, %j] : memref<256x256xf64>
      %2 = nest.load %x[%j] : memref<256xf64>
      %3 = arith.mulf %1, %2 : f64
      %4 = arith.addf %0, %3 : f64
      nest.store "s" %4, %s[] : memref<f64>
    }
    %5 = nest.load %s[] : memref<f64>
    nest.store "y" %5, %y[%i] : memref<256xf64>
  }
  func.return
}

// -----

// CHECK-LABEL: @neighbours
// CHECK: nest.for "i.i" {{.*}} vectorized(32) {
// CHECK: nest.for "k"
func.func @neighbours(%x: memref<256xf64>, %y: memref<256xf64> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 256 {
    %s = nest.alloc "s" : memref<f64>
    %0 = nest.load %x[%i] : memref<256xf64>
    nest.store "s" %0, %s[] : memref<f64>
    nest.for "k" %k = 0 to 30 {
      %1 = nest.load %s[] : memref<f64>
      %2 = arith.mulf %1, %0 : f64
      nest.store "s" %2, %s[] : memref<f64>
    }
    %3 = nest.load %s[] : memref<f64>
    nest.store "y" %3, %y[%i] : memref<256xf64>
  }
  func.return
}

// -----

// A row that needs the one before it, and sums that are short, stay as they are.
// CHECK-LABEL: @dependent
// CHECK-NOT: no_slp
// CHECK-LABEL: @short
// CHECK-NOT: no_slp
func.func @dependent(%a: memref<256x256xf64>, %x: memref<256xf64> {nest.role = "inout"}) {
  nest.for "i" %i = 1 to 256 {
    %s = nest.alloc "s" : memref<f64>
    %0 = nest.load %x[%i - 1] : memref<256xf64>
    nest.store "s" %0, %s[] : memref<f64>
    nest.for "j" %j = 0 to 256 {
      %1 = nest.load %s[] : memref<f64>
      %2 = nest.load %a[%i, %j] : memref<256x256xf64>
      %3 = arith.addf %1, %2 : f64
      nest.store "s" %3, %s[] : memref<f64>
    }
    %4 = nest.load %s[] : memref<f64>
    nest.store "x" %4, %x[%i] : memref<256xf64>
  }
  func.return
}
func.func @short(%a: memref<256x5xf64>, %y: memref<256xf64> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f64
  nest.for "i" %i = 0 to 256 {
    %s = nest.alloc "s" : memref<f64>
    nest.store "s" %zero, %s[] : memref<f64>
    nest.for "j" %j = 0 to 5 {
      %1 = nest.load %s[] : memref<f64>
      %2 = nest.load %a[%i, %j] : memref<256x5xf64>
      %3 = arith.addf %1, %2 : f64
      nest.store "s" %3, %s[] : memref<f64>
    }
    %4 = nest.load %s[] : memref<f64>
    nest.store "y" %4, %y[%i] : memref<256xf64>
  }
  func.return
}

// -----

// Running results of rows: lanes of a vector, which wait for the vectors before them only. Small elements: rows side by side.
// CHECK-LABEL: @running
// CHECK: nest.for "i" {{.*}} parallel
// CHECK: nest.for "j.o" [[O:%\S+]] = 0 to 64
// CHECK: nest.for "j.i" [[V:%\S+]] = 0 to 16 attributes {nestor.scan}
// CHECK: nest.load %x[%i, 16 * [[O]] + [[V]]]
// CHECK-LABEL: @halves
// CHECK: nestor.no_slp
// CHECK-NOT: nestor.scan
func.func @running(%x: memref<4096x1024xf32>, %y: memref<4096x1024xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 4096 {
    %s = nest.alloc "s" : memref<f32>
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "j" %j = 0 to 1024 {
      %0 = nest.load %x[%i, %j] : memref<4096x1024xf32>
      nest.accumulate "s" add %0, %s[] : memref<f32>
      %1 = nest.load %s[] : memref<f32>
      nest.store "y" %1, %y[%i, %j] : memref<4096x1024xf32>
    }
  }
  func.return
}
func.func @halves(%x: memref<4096x1024xf16>, %y: memref<4096x1024xf16> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f16
  nest.for "i" %i = 0 to 4096 {
    %s = nest.alloc "s" : memref<f16>
    nest.store "s" %zero, %s[] : memref<f16>
    nest.for "j" %j = 0 to 1024 {
      %0 = nest.load %x[%i, %j] : memref<4096x1024xf16>
      nest.accumulate "s" add %0, %s[] : memref<f16>
      %1 = nest.load %s[] : memref<f16>
      nest.store "y" %1, %y[%i, %j] : memref<4096x1024xf16>
    }
  }
  func.return
}

// -----

// A long one in blocks, whose sums and running results threads share; what is left over is done in vectors by one.
// CHECK-LABEL: @long
// CHECK: nest.for "i.sums.o{{.*}}" {{.*}} parallel
// CHECK: nest.for "i.carry" {{.*}} = 0 to 480
// CHECK: nest.for "i.o" {{.*}} = 0 to 480 parallel
// CHECK: nest.for "i.i.i" {{.*}} attributes {nestor.scan}
// CHECK: nest.for "i.t.o" {{.*}} = 0 to 100
// CHECK: nest.for "i.t.i" {{.*}} attributes {nestor.scan}
func.func @long(%x: memref<1000000xf32>, %y: memref<1000000xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  nest.for "i" %i = 0 to 1000000 {
    %0 = nest.load %x[%i] : memref<1000000xf32>
    nest.accumulate "s" add %0, %s[] : memref<f32>
    %1 = nest.load %s[] : memref<f32>
    nest.store "y" %1, %y[%i] : memref<1000000xf32>
  }
  func.return
}
