// A check on the host of what the device has computed is a kernel of its own, where it stands.
// RUN: opt-tool %s -p convert-nest-to-gpu | filecheck %s

// CHECK: func.func @f
// CHECK: gpu.launch_func @f_kernels::@f_kernel blocks
// CHECK-NEXT: gpu.launch_func @f_kernels::@f_out blocks
func.func @f(%x: memref<5xf64>, %out: memref<5xf64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %0 = nest.load %x[%c0] : memref<5xf64>
  %1 = arith.cmpf ogt, %0, %zero : f64
  cf.assert %1, "positive" {nestor.kind = "AssertionError"}
  nest.for "i" %i = 0 to 5 {
    %2 = nest.load %x[%i] : memref<5xf64>
    nest.store "out" %2, %out[%i] : memref<5xf64>
  }
  func.return
}

// CHECK: gpu.func @f_kernel(%x: memref<5xf64>
// CHECK: [[X:%.*]] = memref.load
// CHECK: [[OK:%.*]] = arith.cmpf ogt, [[X]]
// CHECK: cf.assert [[OK]], "positive" {nestor.kind = "AssertionError", nestor.site = 0 : i64}
