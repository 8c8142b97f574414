// Attention is one kernel: a block has rows of scores in shared memory, which its warps make, take the softmax of, and use.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' 2>/dev/null | filecheck %s

// CHECK-LABEL: func.func @attention
// CHECK-NOT: nest.alloc
// CHECK: nest.for "b" {{%\S+}} = 0 to 6 bind "block.y" {
// CHECK-NEXT: nest.for "i.o" {{%\S+}} = 0 to 2 bind "block.x" {
// CHECK-NEXT: [[T:%\S+]] = nest.alloc "t" : memref<1x16x156xf32, 3 : i64>
// (Rows of an odd number of 16 bytes: lanes that read one below the other do so without conflicts.)
// A tile of keys after the other: products, in registers, go to the scores.
// CHECK: nest.for "j{{.*}}.o" {{%\S+}} = 0 to 2 {
// CHECK: [[S:%\S+]] = nest.alloc "sums" : memref<{{.*}}xf32, 5 : i64>
// CHECK: nest.alloc "q_tile" : memref<{{.*}}, 3 : i64>
// CHECK: nest.accumulate "t" add {{%\S+}}, [[S]]{{\[[^)]*\]}} : memref
// CHECK: nest.store "t" {{%\S+}}, [[T]]
// CHECK: nest.barrier
// A warp for each row.
// CHECK: bind "thread.x" {
// CHECK: bind "lane" {
// CHECK: math.exp
// CHECK: nest.store "e" {{%\S+}}, [[T]]
// CHECK: nest.barrier
// CHECK: nest.alloc "v_tile" : memref<{{.*}}, 3 : i64>
// CHECK: nest.accumulate "y" add
// CHECK: nest.store "y" {{%\S+}}, %y
func.func @attention(%q: memref<6x17x9xf32>, %k: memref<6x150x9xf32>, %v: memref<6x150x9xf32>, %y: memref<6x17x9xf32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<6x17x150xf32>
  nest.for "b" %b = 0 to 6 {
    nest.for "i" %i = 0 to 17 {
      nest.for "j" %j = 0 to 150 {
        nest.store "t" %zero, %t[%b, %i, %j] : memref<6x17x150xf32>
      }
    }
  }
  nest.for "b.1" %b = 0 to 6 {
    nest.for "i.1" %i = 0 to 17 {
      nest.for "j.1" %j = 0 to 150 {
        nest.for "m" %m = 0 to 9 {
          %a = nest.load %q[%b, %i, %m] : memref<6x17x9xf32>
          %c = nest.load %k[%b, %j, %m] : memref<6x150x9xf32>
          %p = arith.mulf %a, %c : f32
          nest.accumulate "t" add %p, %t[%b, %i, %j] : memref<6x17x150xf32>
        }
      }
    }
  }
  nest.for "b.2" %b = 0 to 6 {
    nest.for "i.2" %i = 0 to 17 {
      %s = nest.alloc "s" : memref<f32>
      nest.store "s" %zero, %s[] : memref<f32>
      nest.for "j.2" %j = 0 to 150 {
        %a = nest.load %t[%b, %i, %j] : memref<6x17x150xf32>
        %e = math.exp %a : f32
        nest.store "e" %e, %t[%b, %i, %j] : memref<6x17x150xf32>
        nest.accumulate "s" add %e, %s[] : memref<f32>
      }
      %sum = nest.load %s[] : memref<f32>
      nest.for "j.3" %j = 0 to 150 {
        %a = nest.load %t[%b, %i, %j] : memref<6x17x150xf32>
        %d = arith.divf %a, %sum : f32
        nest.store "d" %d, %t[%b, %i, %j] : memref<6x17x150xf32>
      }
    }
  }
  nest.for "b.4" %b = 0 to 6 {
    nest.for "i.4" %i = 0 to 17 {
      nest.for "l.4" %l = 0 to 9 {
        nest.store "y" %zero, %y[%b, %i, %l] : memref<6x17x9xf32>
      }
    }
  }
  nest.for "b.5" %b = 0 to 6 {
    nest.for "i.5" %i = 0 to 17 {
      nest.for "l.5" %l = 0 to 9 {
        nest.for "j.5" %j = 0 to 150 {
          %a = nest.load %t[%b, %i, %j] : memref<6x17x150xf32>
          %c = nest.load %v[%b, %j, %l] : memref<6x150x9xf32>
          %p = arith.mulf %a, %c : f32
          nest.accumulate "y" add %p, %y[%b, %i, %l] : memref<6x17x9xf32>
        }
      }
    }
  }
  func.return
}
