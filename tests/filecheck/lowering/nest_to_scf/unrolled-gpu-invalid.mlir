// On a GPU an unrolled loop has a constant among its upper bounds.
// RUN: opt-tool %s -p convert-nest-to-gpu --split-input-file --verify-diagnostics

func.func @unknown(%y: memref<?xf32>, %v: f32, %n: index) {
  // expected-error @below {{the loop "i" is marked unrolled, but its bounds are not constant}}
  nest.for "i" %i = 0 to %n unrolled {
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @lanes_of_one_vector(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{cannot unroll the loop "i": 2143289344 copies of its body}}
  nest.for "i" %i = 0 to 2143289344 vectorized(8) {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "y" %a, %y[%i] : memref<8xf32>
  }
  func.return
}
