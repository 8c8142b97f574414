// Barriers stand where a thread uses what another one wrote, or overwrites what another one reads; nowhere else.
// RUN: opt-tool %s -p nest-insert-barriers | filecheck %s
// RUN: opt-tool %s -p nest-insert-barriers,nest-insert-barriers | filecheck %s
// RUN: opt-tool %s -p 'nest-insert-barriers{loop=p}' | filecheck %s --check-prefix=ONE
// RUN: opt-tool %s -p 'nest-insert-barriers{func=offset}' | filecheck %s --check-prefix=ONE
// RUN: opt-tool %s -p 'nest-insert-barriers,convert-nest-to-gpu{explicit-barriers=true}' | filecheck %s --check-prefix=GPU
// RUN: opt-tool %s -p convert-nest-to-gpu | filecheck %s --check-prefix=LOWERED

// Each row is reversed by the threads of a block, as often as the loop says: a barrier before other threads read,
// and one before the next iteration overwrites what they read.
// CHECK-LABEL: func.func @steps(
// CHECK:         nest.for "k"
// CHECK-NEXT:      nest.for "t"
// CHECK-NOT:     nest.barrier
// CHECK:         }
// CHECK-NEXT:    nest.barrier
// CHECK-NEXT:    nest.for "u"
// CHECK-NOT:     nest.barrier
// CHECK:         }
// CHECK-NEXT:    nest.barrier
// CHECK-NEXT:  }
// ONE-LABEL:   func.func @steps(
// ONE-NOT:       nest.barrier
// GPU-LABEL:   gpu.func @steps_kernel(
// GPU-COUNT-2:   gpu.barrier
// GPU-NOT:       gpu.barrier
func.func @steps(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %n: index) {
  nest.for "o" %o = 0 to 4 bind "block.x" {
    %s = nest.alloc "s" : memref<8xf32>
    nest.for "k" %k = 0 to %n {
      nest.for "t" %t = 0 to 8 bind "thread.x" {
        %a = nest.load %x[%o, %t] : memref<4x8xf32>
        nest.store "s" %a, %s[%t] : memref<8xf32>
      }
      nest.for "u" %u = 0 to 8 bind "thread.x" {
        %a = nest.load %s[7 - %u] : memref<8xf32>
        nest.accumulate "y" add %a, %y[%o, %u] : memref<4x8xf32>
      }
    }
  }
  func.return
}

// Threads are counted from the lower bound: these two loops give a thread the same elements, so that it waits for none
// of the others. By buffers alone there is a barrier.
// CHECK-LABEL: func.func @own(
// CHECK-NOT:     nest.barrier
// ONE-LABEL:   func.func @own(
// ONE-NOT:       nest.barrier
// GPU-LABEL:   gpu.func @own_kernel(
// GPU-NOT:       gpu.barrier
// GPU:           gpu.return
// LOWERED-LABEL: gpu.func @own_kernel(
// LOWERED:         gpu.barrier
func.func @own(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %rows = memref.dim %x, %c0 : memref<?x8xf32>
  nest.for "q" %q = 0 to %rows bind "block.x" {
    %s = nest.alloc "s" : memref<10xf32>
    nest.for "v" %v = 2 to 10 bind "thread.x" {
      %a = nest.load %x[%q, %v - 2] : memref<?x8xf32>
      nest.store "s" %a, %s[%v] : memref<10xf32>
    }
    nest.for "w" %w = 0 to 16 step 2 bind "thread.x" {
      %a = nest.load %s[%w floordiv 2 + 2] : memref<10xf32>
      nest.store "y" %a, %y[%q, %w floordiv 2] : memref<?x8xf32>
    }
  }
  func.return
}

// The same elements in loops that start apart are those of other threads. The first thread writes m for all.
// CHECK-LABEL: func.func @offset(
// CHECK:         nest.for "p"
// CHECK:         nest.for "a"
// CHECK:         }
// CHECK-NEXT:    nest.barrier
// CHECK-NEXT:    nest.for "b"
// CHECK-NOT:     nest.barrier
// ONE-LABEL:   func.func @offset(
// ONE:           nest.for "a"
// ONE:           }
// ONE-NEXT:      nest.barrier
// ONE-NEXT:      nest.for "b"
// ONE-NOT:       nest.barrier
func.func @offset(%x: memref<8xf32>, %y: memref<8xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  nest.for "p" %p = 1 to %n bind "block.x" {
    %s = nest.alloc "s" : memref<8xf32>
    %m = nest.alloc "m" : memref<f32>
    nest.store "m" %zero, %m[] : memref<f32>
    nest.for "a" %a = 0 to 8 bind "thread.x" {
      %v = nest.load %x[%a] : memref<8xf32>
      nest.store "s" %v, %s[%a] : memref<8xf32>
    }
    nest.for "b" %b = 1 to 8 bind "thread.x" {
      %v = nest.load %s[%b] : memref<8xf32>
      %w = nest.load %m[] : memref<f32>
      %u = arith.addf %v, %w : f32
      nest.store "y" %u, %y[%b] where (%p - %b >= 0) : memref<8xf32>
    }
  }
  func.return
}
