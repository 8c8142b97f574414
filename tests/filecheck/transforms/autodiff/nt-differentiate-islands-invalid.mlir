// What a loop overwrites and its derivative needs is refused where it is needed; so is what else writes.
// RUN: opt-tool %s -p nt-differentiate --split-input-file --verify-diagnostics

func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = nt.loops ins() outs(%x : tensor<8xf32>) {
  ^bb0(%y: memref<8xf32>):
    nest.for "t" %t = 0 to 3 {
      nest.for "i" %i = 0 to 8 {
        // expected-error @below {{the derivative needs what "y" holds here, and the loop overwrites it later}}
        %v = nest.load %y[%i] : memref<8xf32>
        %p = math.sin %v : f32
        // expected-note @below {{"y" is overwritten here}}
        nest.store %p, %y[%i] : memref<8xf32>
      }
    }
  }
  func.return %r : tensor<8xf32>
}
func.func @needs_a_tape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %g = nt.vjp replay @f(%x : tensor<8xf32>) cotangents(%x : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = nt.loops ins() outs(%x : tensor<8xf32>) {
  ^bb0(%y: memref<8xf32>):
    nest.for "i" %i = 0 to 8 {
      %v = nest.load %y[%i] : memref<8xf32>
      %b = arith.bitcast %v : f32 to i32
      // expected-error @above {{'arith.bitcast' has no derivative}}
      %w = arith.bitcast %b : i32 to f32
      nest.store %w, %y[%i] : memref<8xf32>
    }
  }
  func.return %r : tensor<8xf32>
}
func.func @bits(%x: tensor<8xf32>) -> tensor<8xf32> {
  %g = nt.jvp replay @f(%x : tensor<8xf32>) tangents(%x : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<8xf32>) -> tensor<f32> {
  %0 = nt.constant dense<1.0> : tensor<f32>
  %r = nt.loops ins(%x : tensor<8xf32>) outs(%0 : tensor<f32>) {
  ^bb0(%a: memref<8xf32>, %p: memref<f32>):
    nest.for "i" %i = 0 to 8 {
      %v = nest.load %a[%i] : memref<8xf32>
      // expected-error @below {{no derivative of this loop: 'accumulate mul' into "p" is not differentiated yet}}
      nest.accumulate mul %v, %p[] : memref<f32>
    }
  }
  func.return %r : tensor<f32>
}
func.func @products(%x: tensor<8xf32>, %c: tensor<f32>) -> tensor<8xf32> {
  %g = nt.vjp replay @f(%x : tensor<8xf32>) cotangents(%c : tensor<f32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

// -----

func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = nt.loops ins() outs(%x : tensor<8xf32>) {
  ^bb0(%y: memref<8xf32>):
    %k = arith.constant 0 : index
    // expected-error @below {{no derivative of this loop: 'scf.while' writes "y"}}
    scf.while () : () -> () {
      %v = nest.load %y[%k] : memref<8xf32>
      %one = arith.constant 1.0 : f32
      %c = arith.cmpf olt, %v, %one : f32
      scf.condition(%c)
    } do {
      %v = nest.load %y[%k] : memref<8xf32>
      %p = arith.addf %v, %v : f32
      nest.store %p, %y[%k] : memref<8xf32>
      scf.yield
    }
  }
  func.return %r : tensor<8xf32>
}
func.func @while(%x: tensor<8xf32>) -> tensor<8xf32> {
  %g = nt.vjp replay @f(%x : tensor<8xf32>) cotangents(%x : tensor<8xf32>) wrt [0] of [0] -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}
