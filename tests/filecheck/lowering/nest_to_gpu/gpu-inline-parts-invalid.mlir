// RUN: not opt-tool --split-input-file %s -p gpu-inline-parts 2>&1 | filecheck %s

// CHECK: error: calls @g, which is no outlined function of this module
func.func @f(%x: memref<64xf32>) {
  func.call @g(%x) {nestor.outlined} : (memref<64xf32>) -> ()
  func.return
}
func.func private @g(%x: memref<64xf32>) {
  func.return
}

// -----

// CHECK: error: an outlined function calls no other one
func.func @f(%x: memref<64xf32>) {
  func.call @g(%x) {nestor.outlined} : (memref<64xf32>) -> ()
  func.return
}
func.func private @g(%x: memref<64xf32>) attributes {nestor.outlined} {
  func.call @g(%x) {nestor.outlined} : (memref<64xf32>) -> ()
  func.return
}

// -----

// CHECK: error: an outlined function has one block
func.func private @g(%x: memref<64xf32>) attributes {nestor.outlined} {
  cf.br ^bb1
^bb1:
  func.return
}
