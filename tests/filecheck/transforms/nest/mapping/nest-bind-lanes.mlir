// A reduction over the lanes of a warp: a row a warp, in steps of 32 columns; in the kernel a tree of shuffles.
// RUN: opt-tool %s -p 'nest-split{loop=j factor=32 tail=mask},nest-bind{loop=i axis=thread.x},nest-bind{loop=j.i axis=lane}' | filecheck %s
// RUN: opt-tool %s -p 'nest-split{loop=j factor=32 tail=mask},nest-bind{loop=i axis=thread.x},nest-bind{loop=j.i axis=lane},nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true},canonicalize,cse' | filecheck %s --check-prefix=GPU

// CHECK-LABEL: @rows
// CHECK:         nest.for "i" %i = 2 to 6 bind "thread.x" {
// CHECK-NEXT:      nest.for "j.o" %j_o = 0 to %m ceildiv 32 {
// CHECK-NEXT:        nest.for "j.i" %j_i = 0 to 32 bind "lane" {

// Lanes past the end of a row take part with the identity of the sum; lane 0 adds the total to the element.
// GPU:           threads in (%c128, %c1, %c1)
// GPU:           gpu.func @rows_kernel
// GPU:             [[T:%.*]] = gpu.thread_id x
// GPU:             arith.divui [[T]], %c32
// GPU:             [[LANE:%.*]] = arith.remui [[T]], %c32
// GPU:             scf.for
// GPU:               [[V:%.*]] = arith.select
// GPU-NEXT:          [[ALL:%.*]] = scf.for [[K:%.*]] = {{.*}} iter_args([[T:%.*]] = [[V]]) -> (f32)
// GPU-NEXT:            [[APART:%.*]] = arith.shrsi {{%.*}}, [[K]] : i32
// GPU-NEXT:            [[A:%.*]], {{%.*}} = gpu.shuffle xor [[T]], [[APART]], %{{.*}} : f32
// GPU-NEXT:            [[B:%.*]] = arith.addf [[T]], [[A]]
// GPU-NEXT:            scf.yield [[B]]
// GPU-NOT:           gpu.shuffle
// GPU:               arith.cmpi eq, [[LANE]], %c0
// GPU:               scf.if
// GPU:                 memref.load %s
// GPU:                 memref.store {{.*}}, %s
func.func @rows(%x: memref<8x?xf32>, %s: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c1 : memref<8x?xf32>
  nest.for "i" %i = 2 to 6 {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<8x?xf32>
      nest.accumulate "s" add %a, %s[%i] : memref<8xf32>
    }
  }
  func.return
}
