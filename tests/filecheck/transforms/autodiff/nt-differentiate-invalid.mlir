// What has no derivative is refused where it is.
// RUN: opt-tool %s -p nt-differentiate --split-input-file --verify-diagnostics

func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'nt.nextafter' has no derivative}}
  %0 = nt.nextafter %x, %x : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
func.func @elementwise(%x: tensor<8xf32>) -> tensor<8xf32> {
  %g = nt.vjp replay @f(%x : tensor<8xf32>) cotangents(%x : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'nt.custom_call "mine"' has no derivative}}
  %0 = nt.custom_call "mine"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
func.func @call(%x: tensor<8xf32>) -> tensor<8xf32> {
  %t = nt.jvp replay @f(%x : tensor<8xf32>) tangents(%x : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %t : tensor<8xf32>
}

// -----

// expected-error @below {{the derivative of 'f' needs itself: recursion is not differentiated}}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nt.vjp replay @f(%x : tensor<8xf32>) cotangents(%x : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %0 : tensor<8xf32>
}

// -----

func.func private @f.vjp(%x: tensor<4xf64>, %c: tensor<4xf64>) -> tensor<4xf64> {
  func.return %c : tensor<4xf64>
}
func.func private @g(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @below {{'f' has nt.custom_vjp, and forward mode needs nt.custom_jvp}}
  %y = nt.composite "f"(%x : tensor<4xf64>) attributes {nt.vjp_rule = @f.vjp} -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf64>):
    %s = nt.sin %a : tensor<4xf64>
    nt.yield %s : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}
func.func @forward(%x: tensor<4xf64>) -> tensor<4xf64> {
  %t = nt.jvp replay @g(%x : tensor<4xf64>) tangents(%x : tensor<4xf64>) wrt [0] of [0] -> (tensor<4xf64>)
  func.return %t : tensor<4xf64>
}

// -----

func.func private @f.vjp(%x: tensor<f64>, %c: tensor<f64>) -> tensor<f64> {
  func.return %c : tensor<f64>
}
func.func private @g(%x: tensor<f64>, %n: tensor<f64>) -> tensor<f64> {
  %0 = nt.to_scalar %n : tensor<f64> -> f64
  // expected-error @below {{'f' has a derivative of its own, and uses a value from outside that is differentiated}}
  %y = nt.composite "f"(%x : tensor<f64>) attributes {nt.vjp_rule = @f.vjp} -> tensor<f64> {
  ^bb0(%a: tensor<f64>):
    %s = nt.from_scalar %0 : f64 -> tensor<f64>
    %p = nt.multiply %a, %s : tensor<f64>
    nt.yield %p : tensor<f64>
  }
  func.return %y : tensor<f64>
}
func.func @captured(%x: tensor<f64>) -> tensor<f64> {
  %t = nt.vjp replay @g(%x, %x : tensor<f64>, tensor<f64>) cotangents(%x : tensor<f64>) wrt [1] of [0] -> (tensor<f64>)
  func.return %t : tensor<f64>
}

// -----

func.func private @f.jvp(%x: tensor<4xf64>, %t: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %y = nt.sin %x : tensor<4xf64>
  // expected-note @below {{this is not linear in them}}
  %d = nt.multiply %t, %t : tensor<4xf64>
  func.return %y, %d : tensor<4xf64>, tensor<4xf64>
}
func.func private @g(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @below {{a rule of nt.custom_jvp is not linear in the tangents: reverse mode cannot transpose it}}
  %y = nt.composite "f"(%x : tensor<4xf64>) attributes {nt.jvp_rule = @f.jvp} -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf64>):
    %s = nt.sin %a : tensor<4xf64>
    nt.yield %s : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}
func.func @reverse(%x: tensor<4xf64>) -> tensor<4xf64> {
  %g = nt.vjp replay @g(%x : tensor<4xf64>) cotangents(%x : tensor<4xf64>) wrt [0] of [0] -> (tensor<4xf64>)
  func.return %g : tensor<4xf64>
}
