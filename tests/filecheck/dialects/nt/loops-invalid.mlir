// The buffers of an island mirror its operands, its results mirror outs.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @count(%a: tensor<4xf64>) {
  // expected-error @below {{the region takes 0 buffers for 1 operands}}
  %0 = nt.loops ins() outs(%a : tensor<4xf64>) {
  }
  func.return
}

// -----

func.func @shape(%a: tensor<4xf64>) {
  // expected-error @below {{tensor<4xf64> enters the region as memref<5xf64>, of another shape}}
  %0 = nt.loops ins() outs(%a : tensor<4xf64>) {
  ^bb0(%m: memref<5xf64>):
  }
  func.return
}

// -----

func.func @element(%a: tensor<4xi1>) {
  // expected-error @below {{tensor<4xi1> enters the region as memref<4xi1>, of another element type}}
  %0 = nt.loops ins() outs(%a : tensor<4xi1>) {
  ^bb0(%m: memref<4xi1>):
  }
  func.return
}

// -----

func.func @results(%a: tensor<4xf64>) {
  // expected-error @below {{one result of the same type for each of outs}}
  %0 = "nt.loops"(%a) <{operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%m: memref<4xf64>):
  }) : (tensor<4xf64>) -> tensor<5xf64>
  func.return
}

// -----

func.func @types(%a: tensor<4xf64>) {
  // expected-error @below {{ins has 2 operands but 1 types}}
  %0 = nt.loops ins(%a, %a : tensor<4xf64>) outs() {
  }
  func.return
}
