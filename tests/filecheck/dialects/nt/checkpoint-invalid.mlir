// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @policy(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{"save-some" is none of save-nothing, save-products, save-all}}
  %y = nt.checkpoint "save-some"(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    nt.yield %a : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// -----

func.func @arguments(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{the region takes its operands, one argument each}}
  %y = nt.checkpoint "save-all"(%x : tensor<8xf32>) -> (tensor<8xf32>) {
    nt.yield %x : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// -----

func.func @results(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{the region ends with a nt.yield of the results' types}}
  %y = nt.checkpoint "save-all"(%x : tensor<8xf32>) -> (tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    nt.yield %a, %a : tensor<8xf32>, tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// -----

func.func @types(%x: tensor<8xf32>) -> tensor<8xf64> {
  // expected-error@+1 {{the results have the types of the operands}}
  %y = "nt.optimization_barrier"(%x) : (tensor<8xf32>) -> tensor<8xf64>
  func.return %y : tensor<8xf64>
}
