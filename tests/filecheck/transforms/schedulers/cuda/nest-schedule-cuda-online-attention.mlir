// Attention with any number of keys is one kernel: tiles of them come and go, with a running maximum and sum in registers.
// RUN: opt-tool %s -p 'nest-schedule-cuda,nest-insert-barriers' 2>/dev/null | filecheck %s

// CHECK-LABEL: func.func @attention
// CHECK-NOT: nest.alloc
// CHECK: nest.for {{.*}} = 0 to 2 bind "block.y" {
// CHECK-NEXT: nest.for {{.*}} = 0 to %n ceildiv 64 bind "block.x" {
// CHECK-NEXT: [[Y:%\S+]] = nest.alloc "y_sums" : memref<8x32x8x2xf32, 5 : i64>
// CHECK-NEXT: [[F:%\S+]] = nest.alloc "scale" : memref<8x8xf32, 5 : i64>
// CHECK-NEXT: [[S:%\S+]] = nest.alloc "running_s" : memref<8x8xf32, 5 : i64>
// CHECK-NEXT: [[M:%\S+]] = nest.alloc "running_maximum" : memref<8x8xf32, 5 : i64>
// CHECK: nest.for "j.o" {{%\S+}} = 0 to %m ceildiv 64 {
// CHECK-NEXT: [[T:%\S+]] = nest.alloc "t" : memref<1x64x68xf32, 3 : i64>
// The products of a tile of keys, in registers, go to the scores; a warp then has the rows that it made.
// CHECK: nest.store "t" {{%\S+}}, [[T]]
// CHECK-NOT: nest.barrier
// CHECK: nest.for {{.*}} [[W:%\S+]] = 0 to 8 bind "thread.x" {
// CHECK-NEXT: nest.for {{.*}} [[R:%\S+]] = 0 to 8 unrolled {
// CHECK: math.exp
// CHECK-NEXT: nest.store "scale" {{%\S+}}, [[F]]{{\[}}[[W]], [[R]]]
// CHECK: nest.store "e" {{%\S+}}, [[T]][0, 8 * [[R]] + [[W]],
// CHECK: nest.load [[Y]]
// CHECK: nest.load [[F]]
// CHECK: nest.store "scale" {{%\S+}}, [[Y]]
// CHECK: nest.barrier
// CHECK: nest.accumulate "y" add {{%\S+}}, [[Y]]
// What is added up is divided at the end, and stored once.
// CHECK: arith.divf
// CHECK: nest.store "y" {{%\S+}}, %y[
func.func @attention(%q: memref<2x?x64xf32> {nest.dims=[2 : i64,"n",64 : i64]}, %k: memref<2x?x64xf32> {nest.dims=[2: i64,"m",64: i64]}, %v: memref<2x?x64xf32> {nest.dims=[2: i64,"m",64: i64]}, %y: memref<2x?x64xf32> {nest.role = "out", nest.dims=[2: i64,"n",64: i64]}) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %c1 = arith.constant 1 : index
  %n = memref.dim %q, %c1 : memref<2x?x64xf32>
  %m = memref.dim %k, %c1 : memref<2x?x64xf32>
  %t = nest.alloc "t"(%n, %m) : memref<2x?x?xf32>
  nest.for "b" %b = 0 to 2 {
    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to %m {
        nest.store "t" %zero, %t[%b, %i, %j] : memref<2x?x?xf32>
      }
    }
  }
  nest.for "b.1" %b = 0 to 2 {
    nest.for "i.1" %i = 0 to %n {
      nest.for "j.1" %j = 0 to %m {
        nest.for "d" %d = 0 to 64 {
          %a = nest.load %q[%b, %i, %d] : memref<2x?x64xf32>
          %c = nest.load %k[%b, %j, %d] : memref<2x?x64xf32>
          %p = arith.mulf %a, %c : f32
          nest.accumulate "t" add %p, %t[%b, %i, %j] : memref<2x?x?xf32>
        }
      }
    }
  }
  nest.for "b.2" %b = 0 to 2 {
    nest.for "i.2" %i = 0 to %n {
      %maximum = nest.alloc "maximum" : memref<f32>
      nest.store "m" %lowest, %maximum[] : memref<f32>
      nest.for "j.2" %j = 0 to %m {
        %a = nest.load %t[%b, %i, %j] : memref<2x?x?xf32>
        nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
      }
      %s = nest.alloc "s" : memref<f32>
      nest.store "s" %zero, %s[] : memref<f32>
      %h = nest.load %maximum[] : memref<f32>
      nest.for "j.3" %j = 0 to %m {
        %a = nest.load %t[%b, %i, %j] : memref<2x?x?xf32>
        %x = arith.subf %a, %h : f32
        %e = math.exp %x : f32
        nest.store "e" %e, %t[%b, %i, %j] : memref<2x?x?xf32>
        nest.accumulate "s" add %e, %s[] : memref<f32>
      }
      %sum = nest.load %s[] : memref<f32>
      nest.for "j.4" %j = 0 to %m {
        %a = nest.load %t[%b, %i, %j] : memref<2x?x?xf32>
        %x = arith.divf %a, %sum : f32
        nest.store "x" %x, %t[%b, %i, %j] : memref<2x?x?xf32>
      }
    }
  }
  nest.for "b.3" %b = 0 to 2 {
    nest.for "i.3" %i = 0 to %n {
      nest.for "l.3" %l = 0 to 64 {
        nest.store "y" %zero, %y[%b, %i, %l] : memref<2x?x64xf32>
      }
    }
  }
  nest.for "b.4" %b = 0 to 2 {
    nest.for "i.4" %i = 0 to %n {
      nest.for "l.4" %l = 0 to 64 {
        nest.for "j.5" %j = 0 to %m {
          %a = nest.load %t[%b, %i, %j] : memref<2x?x?xf32>
          %c = nest.load %v[%b, %j, %l] : memref<2x?x64xf32>
          %p = arith.mulf %a, %c : f32
          nest.accumulate "y" add %p, %y[%b, %i, %l] : memref<2x?x64xf32>
        }
      }
    }
  }
  func.return
}
