// Plain `xdsl-opt` knows Nestor's dialects and passes through the `xdsl.universe` entry point.
// RUN: xdsl-opt %s -p nt-fuse | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK:         nt.fusion
// CHECK:           nt.add
// CHECK:           nt.exp
func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = nt.add %x, %y : tensor<4x8xf32>
  %b = nt.exp %a : tensor<4x8xf32>
  func.return %b : tensor<4x8xf32>
}
