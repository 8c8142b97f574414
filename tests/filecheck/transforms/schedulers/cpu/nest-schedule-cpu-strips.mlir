// A matrix that is read down its columns is read along its rows: a strip of the parallel loop goes into the serial one.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s
// RUN: opt-tool %s -p 'nest-schedule-cpu{threads=1}' | filecheck %s --check-prefix=ONE
// RUN: opt-tool %s -p nest-schedule-cpu 2>&1 | filecheck %s --check-prefix=SAID
// SAID-NOT: remark

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

// What a row adds is of the next column of the row before: the loops keep their order, and no step is refused.
// CHECK-LABEL: @in_order
// CHECK-NEXT: nest.for "i" %{{.*}} = 1 to 1025 {
// CHECK-NEXT: nest.for "j" %{{.*}} = 0 to 1024 parallel
func.func @in_order(%t: memref<1024x1024xf32>, %a: memref<1025x1025x128xf32> {nest.role = "inout"}) {
  nest.for "i" %i = 1 to 1025 {
    nest.for "j" %j = 0 to 1024 {
      %0 = nest.load %t[%j, %i - 1] : memref<1024x1024xf32>
      nest.for "k" %k = 0 to 128 {
        %1 = nest.load %a[%i - 1, %j + 1, %k] : memref<1025x1025x128xf32>
        %2 = arith.mulf %0, %1 : f32
        nest.store "a" %2, %a[%i, %j, %k] : memref<1025x1025x128xf32>
      }
    }
  }
  func.return
}
