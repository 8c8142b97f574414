// What carries derivatives, and is no buffer or statement that has a rule, is refused where it is.
// RUN: opt-tool %s -p nt-differentiate --split-input-file --verify-diagnostics

func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = nt.loops ins() outs(%x : tensor<8xf32>) {
  ^bb0(%y: memref<8xf32>):
    nest.for "i" %i = 0 to 8 {
      %v = nest.load %y[%i] : memref<8xf32>
      %zero = arith.constant 0.0 : f32
      %c = arith.cmpf ogt, %v, %zero : f32
      // expected-error @below {{no derivative of this loop: 'scf.if' gives a number that is no element of a buffer}}
      %p = scf.if %c -> (f32) {
        %0 = arith.mulf %v, %v : f32
        scf.yield %0 : f32
      } else {
        scf.yield %zero : f32
      }
      nest.store %p, %y[%i] : memref<8xf32>
    }
  }
  func.return %r : tensor<8xf32>
}
func.func @results(%x: tensor<8xf32>) -> tensor<8xf32> {
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
