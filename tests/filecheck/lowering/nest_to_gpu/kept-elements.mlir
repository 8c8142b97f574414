// The host keeps no element of the device: what is read before its buffer is overwritten and used after has a buffer.
// RUN: opt-tool %s -p convert-nest-to-gpu,canonicalize,cse --split-input-file | filecheck %s

// An element that is used after its buffer has other contents is kept in a buffer of its own, by a kernel before.
// CHECK-LABEL: func.func @kept(
// CHECK:         [[KEPT:%.*]] = memref.alloc() : memref<f32>
// CHECK:         gpu.launch_func {{.*}} args(%y : memref<8xf32>, [[KEPT]] : memref<f32>)
// CHECK:         gpu.launch_func {{.*}} args(%y : memref<8xf32>, [[KEPT]] : memref<f32>)
// CHECK:         gpu.func
// CHECK:           [[A:%.*]] = memref.load %y[%c1]
// CHECK:           memref.store [[A]], %kept[]
// CHECK:         gpu.func
// CHECK:           memref.load %kept[]
func.func @kept(%y: memref<8xf32>) {
  %a = nest.load %y[1] : memref<8xf32>
  nest.for "i" %i = 0 to 8 bind "thread.x" {
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

// Statements that share a launch read first and write then: nothing is kept.
// CHECK-LABEL: func.func @swapped(
// CHECK-NOT:     memref.alloc
// CHECK-COUNT-1: gpu.launch_func
// CHECK-NOT:     gpu.launch_func
func.func @swapped(%x: memref<f32>, %y: memref<f32>) {
  %a = nest.load %x[] : memref<f32>
  %b = nest.load %y[] : memref<f32>
  nest.store "x" %b, %x[] : memref<f32>
  nest.store "y" %a, %y[] : memref<f32>
  func.return
}
