// RUN: opt-tool %s -p nt-differentiate --split-input-file --verify-diagnostics

func.func private @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error@+1 {{a derivative by itself needs what 'prog.draw' gives, and would call it once more}}
  %r = nt.custom_call ordered "prog.draw"(%x) {kinds = ["array"], several = false} : (tensor<4xf64>) -> tensor<4xf64>
  %s = nt.stop_gradient %r : tensor<4xf64>
  %0 = nt.multiply %x, %s : tensor<4xf64>
  func.return %0 : tensor<4xf64>
}
func.func @needed(%x: tensor<4xf64>, %c: tensor<4xf64>) -> tensor<4xf64> {
  %g = nt.vjp replay @f(%x : tensor<4xf64>) cotangents(%c : tensor<4xf64>) wrt [0] of [0] -> (tensor<4xf64>)
  func.return %g : tensor<4xf64>
}

// -----

// An input with a rule beside it that is no argument of the function.
func.func private @f.vjp(%x: tensor<4xf64>, %w: tensor<4xf64>, %c: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  func.return %c, %w : tensor<4xf64>, tensor<4xf64>
}
func.func private @f(%x: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error@+1 {{'f' has a derivative of its own, and uses a value from outside that is differentiated}}
  %y = nt.composite "f"(%x, %w : tensor<4xf64>, tensor<4xf64>) attributes {nt.vjp_rule = @f.vjp, nt.rule_inputs = 1 : i64} -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf64>, %b: tensor<4xf64>):
    nt.yield %b : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}
func.func @others(%x: tensor<4xf64>, %w: tensor<4xf64>, %c: tensor<4xf64>) -> tensor<4xf64> {
  %g = nt.vjp replay @f(%x, %w : tensor<4xf64>, tensor<4xf64>) cotangents(%c : tensor<4xf64>) wrt [1] of [0] -> (tensor<4xf64>)
  func.return %g : tensor<4xf64>
}
