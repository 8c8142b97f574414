// Sums of a big array and squares around their means: in parts of about 128 KiB, both while a core's cache has them.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s

// 66000 rows of 64 bytes: 32 parts would not come out even.
// CHECK-LABEL: func.func @columns
// CHECK: nest.for "i.p" [[P:%\S+]] = 0 to 33 parallel
// CHECK: nest.for "i" {{%\S+}} = 2000 * [[P]] to 2000 * [[P]] + 2000 {
// CHECK: nest.for "j" {{%\S+}} = 2000 * [[P]] to 2000 * [[P]] + 2000 {
// CHECK: nest.accumulate "power" add
// CHECK: nest.for "i.combine" {{%\S+}} = 0 to 33 {
func.func @columns(%x: memref<66000x16xf32>, %mean: memref<16xf32>, %s: memref<16xf32>, %q: memref<16xf32>) {
  nest.for "i" %i = 0 to 66000 {
    nest.for "i1" %k = 0 to 16 {
      %a = nest.load %x[%i, %k] : memref<66000x16xf32>
      nest.accumulate "s" add %a, %s[%k] : memref<16xf32>
    }
  }
  nest.for "j" %j = 0 to 66000 {
    nest.for "j1" %k = 0 to 16 {
      %a = nest.load %x[%j, %k] : memref<66000x16xf32>
      %m = nest.load %mean[%k] : memref<16xf32>
      %d = arith.subf %a, %m : f32
      %e = arith.mulf %d, %d : f32
      nest.accumulate "q" add %e, %q[%k] : memref<16xf32>
    }
  }
  func.return
}

// Rows that the cache has still when they are looked at again.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: "power"
func.func @rows(%x: memref<64x20000xf32>, %mean: f32, %s: memref<64xf32>, %q: memref<64xf32>) {
  nest.for "i" %i = 0 to 64 {
    nest.for "j" %j = 0 to 20000 {
      %a = nest.load %x[%i, %j] : memref<64x20000xf32>
      nest.accumulate "s" add %a, %s[%i] : memref<64xf32>
    }
    nest.for "k" %k = 0 to 20000 {
      %a = nest.load %x[%i, %k] : memref<64x20000xf32>
      %d = arith.subf %a, %mean : f32
      %e = arith.mulf %d, %d : f32
      nest.accumulate "q" add %e, %q[%i] : memref<64xf32>
    }
  }
  func.return
}

// The same with all of it one sum: 39 parts would not come out even.
// CHECK-LABEL: func.func @whole
// CHECK: nest.for "i.p" {{%\S+}} = 0 to 40 parallel
func.func @whole(%x: memref<1280000xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  nest.for "i" %i = 0 to 1280000 {
    %a = nest.load %x[%i] : memref<1280000xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "j" %j = 0 to 1280000 {
    %a = nest.load %x[%j] : memref<1280000xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}
