// In kernels nothing is expanded that CUDA C has a function for; on the host, and in functions, nothing at all.
// RUN: opt-tool %s -p expand-math{kernels=true} | filecheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @k
  // CHECK: math.exp
  // CHECK-NEXT: special.lgamma
  // CHECK-NEXT: special.sigmoid
  gpu.func @k(%x: memref<?xf32>, %y: memref<?xf32>) kernel {
    %i = gpu.thread_id x
    %a = memref.load %x[%i] : memref<?xf32>
    %b = math.exp %a : f32
    %c = special.lgamma %b : f32
    %d = special.sigmoid %c : f32
    memref.store %d, %y[%i] : memref<?xf32>
    gpu.return
  }
}
// CHECK-LABEL: func.func @host
// CHECK-NEXT: special.sigmoid
func.func @host(%x: f32) -> f32 {
  %y = special.sigmoid %x : f32
  func.return %y : f32
}
