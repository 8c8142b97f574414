// A function of several blocks has no tree of loops.
// RUN: not opt-tool %s -t nest-tree 2>&1 | filecheck %s

// CHECK: error: target 'nest-tree' shows functions of one block
// CHECK: help: branches of the nest level are nest.if and scf.if
func.func @two_blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  func.return %x : tensor<4xf32>
}
func.func @known(%y: memref<?xf32>, %v: f32) {
  nest.for "i" %i = 0 to 2 {
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}
