// A shuffle reads back as it is printed, in upstream's form; two of the same value are two, for all lanes run them.
// RUN: opt-tool %s | opt-tool | filecheck %s
// RUN: opt-tool %s -p canonicalize,cse | filecheck %s

gpu.module @m {
  // CHECK: gpu.func @k(
  gpu.func @k(%x: memref<32xf32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<32xf32>
    %offset = arith.constant 16 : i32
    %width = arith.constant 32 : i32
    // CHECK:      [[A:%.*]], %{{.*}} = gpu.shuffle xor %v, %{{.*}}, %{{.*}} : f32
    // CHECK-NEXT: [[B:%.*]], %{{.*}} = gpu.shuffle xor %v, %{{.*}}, %{{.*}} : f32
    %a, %p = gpu.shuffle xor %v, %offset, %width : f32
    %b, %q = gpu.shuffle xor %v, %offset, %width : f32
    // CHECK-NEXT: arith.addf [[A]], [[B]]
    %c = arith.addf %a, %b : f32
    memref.store %c, %x[%t] : memref<32xf32>
    gpu.return
  }
}
