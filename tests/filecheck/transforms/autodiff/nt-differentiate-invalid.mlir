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
