// xDSL's cse and dce know nt: equal operations merge (properties count), unused ones go, islands stay.
// RUN: opt-tool %s -p cse,dce | filecheck %s

// CHECK-LABEL: func.func @merge
// CHECK-NEXT:    %[[A:.*]] = nt.reduce add %x over [0]
// CHECK-NEXT:    %[[B:.*]] = nt.reduce add %x over [1]
// CHECK-NEXT:    func.return %[[A]], %[[A]], %[[B]]
func.func @merge(%x: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = nt.reduce add %x over [0] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = nt.reduce add %x over [0] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = nt.reduce add %x over [1] : tensor<4x4xf32> -> tensor<4xf32>
  %dead = nt.exp %x : tensor<4x4xf32>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @fusions
// CHECK-COUNT-1: nt.fusion "a"
// CHECK-NOT:     nt.fusion
func.func @fusions(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = nt.fusion "a" {
    %0 = nt.exp %x : tensor<4xf32>
    nt.yield %0 : tensor<4xf32>
  } : tensor<4xf32>
  %b = nt.fusion "a" {
    %0 = nt.exp %x : tensor<4xf32>
    nt.yield %0 : tensor<4xf32>
  } : tensor<4xf32>
  %dead = nt.fusion "dead" {
    %0 = nt.exp %x : tensor<4xf32>
    nt.yield %0 : tensor<4xf32>
  } : tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @islands
// CHECK-COUNT-2: nt.loops
func.func @islands(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nt.loops ins() outs(%a : tensor<4xf32>) {
  ^bb0(%m: memref<4xf32>):
  }
  %1 = nt.loops ins() outs(%a : tensor<4xf32>) {
  ^bb0(%m: memref<4xf32>):
  }
  func.return %0 : tensor<4xf32>
}
