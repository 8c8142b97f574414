// A matrix that is read down its columns is read along its rows: a strip of the parallel loop goes into the serial one.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s
// RUN: opt-tool %s -p 'nest-schedule-cpu{threads=1}' | filecheck %s --check-prefix=ONE

// CHECK-LABEL: @columns
// CHECK: nest.for "j.o" %{{.*}} = 0 to 64 parallel
// CHECK-NEXT: nest.for "i" %{{.*}} = 0 to 1024 {
// CHECK-NEXT: nest.for "j.i" %{{.*}} = 0 to 16 {
// CHECK-NEXT: nest.load %t[
// CHECK-NEXT: nest.for "k
// ONE-LABEL: @columns
// ONE-NOT: parallel
// ONE: nest.for "j.i"
func.func @columns(%t: memref<1024x1024xf32>, %x: memref<1024x128xf32>, %s: memref<1024x128xf32> {nest.role = "inout"}) {
  nest.for "i" %i = 0 to 1024 {
    nest.for "j" %j = 0 to 1024 {
      %0 = nest.load %t[%i, %j] : memref<1024x1024xf32>
      nest.for "k" %k = 0 to 128 {
        %1 = nest.load %x[%i, %k] : memref<1024x128xf32>
        %2 = nest.load %x[%j, %k] : memref<1024x128xf32>
        %3 = arith.subf %1, %2 : f32
        %4 = arith.mulf %0, %3 : f32
        nest.accumulate "s" add %4, %s[%j, %k] : memref<1024x128xf32>
      }
    }
  }
  func.return
}

// Along the rows anyway: no strips.
// CHECK-LABEL: @rows
// CHECK: nest.for "j" %{{.*}} = 0 to 1024 parallel
// CHECK-NOT: "j.i"
// CHECK: func.return
func.func @rows(%t: memref<1024x1024xf32>, %x: memref<1024x128xf32>, %s: memref<1024x128xf32> {nest.role = "inout"}) {
  nest.for "j" %j = 0 to 1024 {
    nest.for "i" %i = 0 to 1024 {
      %0 = nest.load %t[%j, %i] : memref<1024x1024xf32>
      nest.for "k" %k = 0 to 128 {
        %1 = nest.load %x[%i, %k] : memref<1024x128xf32>
        %2 = nest.load %x[%j, %k] : memref<1024x128xf32>
        %3 = arith.subf %1, %2 : f32
        %4 = arith.mulf %0, %3 : f32
        nest.accumulate "s" add %4, %s[%j, %k] : memref<1024x128xf32>
      }
    }
  }
  func.return
}
