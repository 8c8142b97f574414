// Skews that are refused, and why.
// RUN: opt-tool %s -p 'nest-skew{outer=i inner=j}' --split-input-file --verify-diagnostics

func.func @apart(%x: f32, %y: memref<32xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "i" %i = 0 to 32 {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  // expected-error @below {{cannot skew the loop "j" by "i": it is not inside of that loop}}
  nest.for "j" %j = 0 to 32 {
    nest.store "y" %x, %y[%j] : memref<32xf32>
  }
  func.return
}

// -----

func.func @marked(%x: f32, %y: memref<32x8xf32>) {
  nest.for "i" %i = 0 to 32 {
    // expected-error @below {{cannot skew the loop "j": it is vectorized already}}
    nest.for "j" %j = 0 to 8 vectorized(8) {
      nest.store "y" %x, %y[%i, %j] : memref<32x8xf32>
    }
  }
  func.return
}
