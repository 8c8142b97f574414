// What windows and composites must not be.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<4x9xf32>) {
  // expected-error @below {{windows over [1] of tensor<4x9xf32> do not give tensor<4x7xf32>}}
  %0 = nt.window %x over [1] : tensor<4x9xf32> -> tensor<4x7xf32>
  func.return
}

// -----

func.func @axis(%x: tensor<4x9xf32>) {
  // expected-error @below {{windows over [2] of tensor<4x9xf32> do not give tensor<4x9x3xf32>}}
  %0 = nt.window %x over [2] : tensor<4x9xf32> -> tensor<4x9x3xf32>
  func.return
}

// -----

func.func @count(%x: tensor<4x9xf32>) {
  // expected-error @below {{dimension 1 of tensor<4x6x3xf32> has 6 windows instead of 7}}
  %0 = nt.window %x over [1] : tensor<4x9xf32> -> tensor<4x6x3xf32>
  func.return
}

// -----

func.func @extent(%x: tensor<4x9xf32>) {
  // expected-error @below {{the extents of a window are positive constants}}
  %0 = nt.window %x over [1] : tensor<4x9xf32> -> tensor<4x10x0xf32>
  func.return
}

// -----

func.func @element(%x: tensor<4xf32>) {
  // expected-error @below {{the element type changes from f32 to f64}}
  %0 = nt.window %x over [0] : tensor<4xf32> -> tensor<3x2xf64>
  func.return
}

// -----

func.func @sizes(%x: tensor<?xf32>) {
  // expected-error @below {{0 sizes for the 1 unknown extents}}
  %0 = nt.window %x over [0] : tensor<?xf32> -> tensor<?x2xf32>
  func.return
}

// -----

func.func @argument(%x: tensor<4xf32>) {
  // expected-error @below {{the region takes its operands, one argument each}}
  %0 = nt.composite "f"(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<5xf32>):
    nt.yield %x : tensor<4xf32>
  }
  func.return
}

// -----

func.func @result(%x: tensor<4xf32>) {
  // expected-error @below {{the region ends with a nt.yield of the results' types}}
  %0 = nt.composite "f"(%x : tensor<4xf32>) -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf32>):
    nt.yield %a : tensor<4xf32>
  }
  func.return
}

// -----

func.func @outside(%x: tensor<4xf32>) {
  // expected-error @below {{'nt.negative' uses a tensor from outside that is not an operand}}
  %0 = nt.composite "f"() -> tensor<4xf32> {
    %1 = nt.negative %x : tensor<4xf32>
    nt.yield %1 : tensor<4xf32>
  }
  func.return
}

// -----

func.func @effects(%x: tensor<4xf32>) {
  // expected-error @below {{'nt.loops' has effects and cannot be part of it}}
  %0 = nt.composite "f"(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = nt.loops ins() outs(%a : tensor<4xf32>) {
    ^bb1(%m: memref<4xf32>):
    }
    nt.yield %1 : tensor<4xf32>
  }
  func.return
}

// -----

func.func @no_rule(%x: tensor<4xf32>) {
  // expected-error @below {{nt.vjp_rule = @f.vjp is not a function of the module with a body}}
  %0 = nt.composite "f"(%x : tensor<4xf32>) attributes {nt.vjp_rule = @f.vjp} -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    nt.yield %a : tensor<4xf32>
  }
  func.return
}

// -----

func.func private @f.jvp(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @other_rule(%x: tensor<4xf32>) {
  // expected-error @below {{and is to be of (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)}}
  %0 = nt.composite "f"(%x : tensor<4xf32>) attributes {nt.jvp_rule = @f.jvp} -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    nt.yield %a : tensor<4xf32>
  }
  func.return
}
