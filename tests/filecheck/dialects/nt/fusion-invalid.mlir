// What a fusion cannot hold, take or yield.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @arguments(%x: tensor<4xf32>) {
  // expected-error @below {{the region takes no arguments; it uses outer values directly}}
  %a = nt.fusion "a" {
  ^bb0(%y: tensor<4xf32>):
    nt.yield %y : tensor<4xf32>
  } : tensor<4xf32>
  func.return
}

// -----

func.func @results(%x: tensor<4xf32>) {
  // expected-error @below {{the region ends with a nt.yield of the results' types}}
  %a = nt.fusion "a" {
    nt.yield %x : tensor<4xf32>
  } : tensor<5xf32>
  func.return
}

// -----

func.func @effects(%x: tensor<4xf32>) {
  // expected-error @below {{'nt.loops' has effects and cannot be fused}}
  %a = nt.fusion "a" {
    %0 = nt.loops ins() outs(%x : tensor<4xf32>) {
    ^bb0(%m: memref<4xf32>):
    }
    nt.yield %0 : tensor<4xf32>
  } : tensor<4xf32>
  func.return
}
