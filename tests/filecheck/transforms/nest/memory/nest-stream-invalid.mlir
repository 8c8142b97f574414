// A loop without an unmasked contiguous store to the buffer is refused, and the stores there are shown.
// RUN: opt-tool %s --split-input-file --verify-diagnostics -p 'nest-stream{loop=i buffer=y}'

func.func @none(%y: memref<4xf32>, %z: memref<4xf32>) {
  // expected-error @below {{cannot stream the stores to "y" in the loop "i": none is unmasked and contiguous along it}}
  nest.for "i" %i = 0 to 4 {
    %v = nest.load %y[%i] : memref<4xf32>
    nest.store "z" %v, %z[%i] : memref<4xf32>
  }
  func.return
}

// -----

func.func @masked(%y: memref<4x4xf32>, %n: index) {
  // expected-error @below {{cannot stream the stores to "y" in the loop "i"}}
  nest.for "i" %i = 0 to 4 {
    %v = nest.load %y[%i, %i] : memref<4x4xf32>
    // expected-note @below {{this store is masked, in another loop, or not contiguous}}
    nest.store "rows" %v, %y[%i, 0] : memref<4x4xf32>
    // expected-note @below {{this store is masked, in another loop, or not contiguous}}
    nest.store "masked" %v, %y[0, %i] where (%i < %n) : memref<4x4xf32>
  }
  func.return
}
