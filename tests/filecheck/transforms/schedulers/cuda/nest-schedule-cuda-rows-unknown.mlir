// Rows whose length only the run time knows stay in shared memory where it has room for them; the host decides that.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' 2>/dev/null | filecheck %s

// CHECK-LABEL: func.func @centred
// CHECK: [[SHORT:%\S+]] = arith.cmpi sle, %m, {{%\S+}} : index
// CHECK: nest.if [[SHORT]] {
// CHECK-NEXT: nest.for {{.*}} = 0 to %n bind "block.x" {
// CHECK-NEXT: [[ROW:%\S+]] = nest.alloc "x_row" : memref<10240xf32, 3 : i64>
// CHECK: [[X:%\S+]] = nest.load %x[
// CHECK-NEXT: nest.store "x_row" [[X]], [[ROW]][
// CHECK-NOT: nest.load %x[
// Each thread reads what it has copied: the only barrier is for the sums of the warps.
// CHECK: nest.barrier
// CHECK-NOT: nest.barrier
// CHECK: } else {
// CHECK: nest.load %x[
// CHECK: nest.load %x[
func.func @centred(%x: memref<?x?xf32> {nest.dims = ["n", "m"]}, %y: memref<?x?xf32> {nest.role = "out", nest.dims = ["n", "m"]}) {
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
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
    %t = nest.load %s[] : memref<f32>
    nest.for "k" %k = 0 to %m {
      %a = nest.load %x[%i, %k] : memref<?x?xf32>
      %d = arith.subf %a, %t : f32
      nest.store "y" %d, %y[%i, %k] : memref<?x?xf32>
    }
  }
  func.return
}
