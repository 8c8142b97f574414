// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @missing(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{there is no function @f}}
  %r = nt.batch @f(%x : tensor<8xf32>) along [0] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
func.func @slices(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{@f takes (tensor<f32>), not (tensor<4xf32>)}}
  %r = nt.batch @f(%x : tensor<8x4xf32>) along [0] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
func.func @axis(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{operand 0 is tensor<8xf32>, which has no axis 1}}
  %r = nt.batch @f(%x : tensor<8xf32>) along [1] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
func.func @nothing(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{along [-1] slices no operand}}
  %r = nt.batch @f(%x : tensor<f32>) along [-1] -> (tensor<f32>)
  func.return %r : tensor<f32>
}

// -----

func.func private @f(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
func.func @differ(%x: tensor<8xf32>, %y: tensor<9xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{operand 0 has 8 slices and operand 1 has 9}}
  %r = nt.batch @f(%x, %y : tensor<8xf32>, tensor<9xf32>) along [0, 0] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}

// -----

func.func private @f(%n: index) -> tensor<f32> {
  %0 = nt.constant dense<0.0> : tensor<f32>
  func.return %0 : tensor<f32>
}
func.func @scalar(%n: index) -> tensor<8xf32> {
  // expected-error@+1 {{operand 0 is index, which has no slices}}
  %r = nt.batch @f(%n : index) along [0] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
func.func @results(%x: tensor<8xf32>) -> tensor<f32> {
  // expected-error@+1 {{its results are (tensor<8xf32>)}}
  %r = nt.batch @f(%x : tensor<8xf32>) along [0] -> (tensor<f32>)
  func.return %r : tensor<f32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
func.func @whole(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{whole [1] is not within the 1 results}}
  %r = nt.batch @f(%x : tensor<8xf32>) along [0] whole [1] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
func.func @axes(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{along [0, 0] names an axis for each of the 1 operands}}
  %r = nt.batch @f(%x : tensor<8xf32>) along [0, 0] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}
