// Primitives on buffers as steps: buffers are matched by name, and the buffers that steps make have handles, too.
// RUN: opt-tool %s -p apply-schedule | filecheck %s

// CHECK-LABEL: func.func @matmul
// CHECK: nest.for "j.o"
// CHECK: %[[B:.*]] = nest.alloc "b_local" : memref<8x16xf32>
// CHECK: nest.for "i.o"
// CHECK: nest.alloc "c_local" : memref<4x8xf32, 5 : i64>
// CHECK: nest.prefetch %a[4 * %{{.*}} + %{{.*}} + 4, %{{.*}}] : memref<16x16xf32>
// CHECK: nest.prefetch %b[%{{.*}} + 4, 8 * %{{.*}}] : memref<16x16xf32>
func.func @matmul(%a: memref<16x16xf32>, %b: memref<16x16xf32>, %c: memref<16x16xf32>) {
  nest.for "i" %i = 0 to 16 {
    nest.for "j" %j = 0 to 16 {
      nest.for "k" %k = 0 to 16 {
        %x = nest.load %a[%i, %k] : memref<16x16xf32>
        %y = nest.load %b[%k, %j] : memref<16x16xf32>
        %p = arith.mulf %x, %y : f32
        nest.accumulate "c" add %p, %c[%i, %j] : memref<16x16xf32>
      }
    }
  }
  func.return
}
schedule.sequence @of_matmul for @matmul {
  %i, %j, %k = schedule.match loops ["i", "j", "k"]
  %io, %ii = schedule.split %i by 4 tail(perfect)
  %jo, %ji = schedule.split %j by 8 tail(perfect)
  schedule.reorder %jo, %io, %k, %ii, %ji
  %a, %b, %c = schedule.match buffers ["a", "b", "c"]
  schedule.prefetch %b in %k by 4
  schedule.prefetch %a in %io by 1 at("k")
  %panel, %copy = schedule.cache_read %b at %jo
  %packed = schedule.transform_layout %panel to "k j -> j k"
  %tile, %start, %back = schedule.cache_write %c at %io
  %registers = schedule.set_memory %tile to local
  %rows, %load, %store = schedule.stage_mem %a at %io
}

// CHECK-LABEL: func.func @stages
// CHECK-NOT: nest.alloc "t"
// CHECK: nest.for "j.o"
// CHECK: nest.alloc "u"
func.func @stages(%x: memref<32xf32>, %y: memref<32xf32>, %z: memref<32xf32>) {
  %t = nest.alloc "t" : memref<32xf32>
  %u = nest.alloc "u" : memref<32xf32>
  nest.for "i" %i = 0 to 32 {
    %v = nest.load %x[%i] : memref<32xf32>
    %w = arith.addf %v, %v : f32
    nest.store "t" %w, %t[%i] : memref<32xf32>
  }
  nest.for "k" %k = 0 to 32 {
    %v = nest.load %t[%k] : memref<32xf32>
    %w = arith.mulf %v, %v : f32
    nest.store "u" %w, %u[%k] : memref<32xf32>
  }
  nest.for "j" %j = 0 to 32 {
    %v = nest.load %u[%j] : memref<32xf32>
    nest.store "y" %v, %y[%j] : memref<32xf32>
  }
  func.return
}
schedule.sequence @of_stages for @stages {
  %t, %u, %y = schedule.match buffers ["t", "u", "y"]
  schedule.compute_inline %t duplicate(refuse)
  %j = schedule.match loops ["j"]
  %o, %i = schedule.split %j by 8 tail(perfect)
  %made, %none = schedule.compute_at %u at %o storage(here)
  schedule.stream %y in %i
  schedule.reuse_buffers
}
