// The Python line that a statement comes from stands before it, once.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: const int i = threadIdx.x;
// CHECK-NEXT: // prog.py:3
// CHECK-NEXT: const float y = x[i] * 2.0f;
// CHECK-NEXT: const float z = y + 1e-5f;
// CHECK-NEXT: // prog.py:5
// CHECK-NEXT: x[i] = z;

gpu.module @k attributes {nestor.index_bits = 32 : i64} {
  gpu.func @lines(%x: memref<32xf32>) kernel {
    %two = arith.constant 2.0 : f32
    %eps = arith.constant 1.0e-5 : f32
    %i = gpu.thread_id x
    %0 = memref.load %x[%i] : memref<32xf32> loc("dir/prog.py":3:9)
    %y = arith.mulf %0, %two : f32 loc("dir/prog.py":3:9)
    %z = arith.addf %y, %eps : f32 loc("dir/prog.py":3:13)
    memref.store %z, %x[%i] : memref<32xf32> loc("dir/prog.py":5:5)
    gpu.return
  }
}
