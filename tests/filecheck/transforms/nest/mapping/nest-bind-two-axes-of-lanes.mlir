// A warp as 8 by 4 lanes: eight rows at a time, whose totals are in all four lanes of a row after two shuffles.
// RUN: opt-tool %s -p 'nest-bind{loop=y axis=lane.y},nest-bind{loop=x axis=lane.x}' | filecheck %s
// RUN: opt-tool %s -p 'nest-bind{loop=y axis=lane.y},nest-bind{loop=x axis=lane.x},nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true},canonicalize,cse' | filecheck %s --check-prefix=GPU
// RUN: opt-tool %s -p 'nest-bind{loop=y axis=lane.y},nest-bind{loop=x axis=lane.x},nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true index-bits=32}' -t cuda | filecheck %s --check-prefix=CUDA

// CHECK: nest.for "y" %y = 0 to 8 bind "lane.y" {
// CHECK: nest.for "x" %{{.*}} = 0 to 4 bind "lane.x" {
// CHECK-NOT: nest.barrier

// GPU:      threads in (%c32, %c1, %c1)
// GPU:      arith.divui {{%.*}}, %c4
// GPU:      [[TWO:%.*]] = arith.constant 2 : i32
// GPU:      scf.for [[STEP:%.*]] = {{%.*}} to [[TWO]]
// GPU:        arith.shrsi [[TWO]], [[STEP]]
// GPU-NEXT:   gpu.shuffle xor

// The buffer of totals is a register: of its axis each lane has its own row.
// CUDA:     float total = 0.0f;
// CUDA:     for (int step = 0; step < 2; step++) {
// CUDA:       __shfl_xor_sync(0xffffffffu, {{.*}}, 2 >> step);
// CUDA-NOT: __syncthreads
func.func @rows(%a: memref<8x4xf32>, %s: memref<8x4xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.for "o" %o = 0 to 1 bind "block.x" {
    %total = nest.alloc "total" : memref<8xf32, 5>
    nest.for "y" %y = 0 to 8 {
      nest.store "total" %zero, %total[%y] : memref<8xf32, 5>
      nest.for "x" %x = 0 to 4 {
        %v = nest.load %a[%y, %x] : memref<8x4xf32>
        nest.accumulate "total" add %v, %total[%y] : memref<8xf32, 5>
      }
    }
    nest.for "y.1" %y_1 = 0 to 8 bind "lane.y" {
      nest.for "x.1" %x_1 = 0 to 4 bind "lane.x" {
        %t = nest.load %total[%y_1] : memref<8xf32, 5>
        nest.store "s" %t, %s[%y_1, %x_1] : memref<8x4xf32>
      }
    }
  }
  func.return
}
