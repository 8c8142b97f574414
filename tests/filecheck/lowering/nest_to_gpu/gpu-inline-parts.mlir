// RUN: opt-tool %s -p gpu-inline-parts | filecheck %s
// RUN: opt-tool %s -p gpu-inline-parts | opt-tool -p gpu-inline-parts | filecheck %s

// Each call of an outlined function, marked or not, becomes its launches, with temporaries of their own; the kernels stay one.

// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<64xf32>, %[[W:[a-z0-9]+]]: memref<64xf32>, %[[U:[a-z0-9]+]]: memref<64xf32>
// CHECK:         %[[B:.*]] = memref.alloc() : memref<64xf32>
// CHECK-NOT:     func.call
// CHECK:         %[[A:.*]] = memref.alloc() : memref<64xf32>
// CHECK:         gpu.launch_func @f.part_kernels::@f_a {{.*}} args(%[[X]] : {{.*}}, %[[W]] : {{.*}}, %[[A]] : memref<64xf32>)
// CHECK:         %[[A1:.*]] = memref.alloc() : memref<64xf32>
// CHECK:         gpu.launch_func @f.part_kernels::@f_a {{.*}} args(%[[B]] : {{.*}}, %[[U]] : {{.*}}, %[[A1]] : memref<64xf32>)
// CHECK-NOT:     func.func private
// CHECK:         gpu.module
// CHECK-NOT:     func.call

func.func @f(%x: memref<64xf32>, %w: memref<64xf32>, %u: memref<64xf32>) {
  %b = memref.alloc() : memref<64xf32>
  func.call @f.part(%x, %w) {nestor.outlined} : (memref<64xf32>, memref<64xf32>) -> ()
  func.call @f.part(%b, %u) : (memref<64xf32>, memref<64xf32>) -> ()
  func.return
}
func.func private @f.part(%x: memref<64xf32>, %w: memref<64xf32>) attributes {nestor.outlined} {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %a = memref.alloc() : memref<64xf32>
  "gpu.launch_func"(%c1, %c1, %c1, %c64, %c1, %c1, %x, %w, %a) <{kernel = @f.part_kernels::@f_a, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 3, 0>}> : (index, index, index, index, index, index, memref<64xf32>, memref<64xf32>, memref<64xf32>) -> ()
  func.return
}
gpu.module @f.part_kernels {
  gpu.func @f_a(%x: memref<64xf32>, %w: memref<64xf32>, %a: memref<64xf32>) kernel {
    gpu.return
  }
}
