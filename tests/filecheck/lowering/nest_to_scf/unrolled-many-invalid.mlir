// Unrolled loops that would become too many copies: alone, and with the unrolled loop around them.
// RUN: opt-tool %s -p convert-nest-to-scf --split-input-file --verify-diagnostics
// RUN: opt-tool %s -p convert-nest-to-gpu --split-input-file --verify-diagnostics

func.func @one(%y: memref<?xf32>, %v: f32) {
  // expected-error @below {{cannot unroll the loop "i": 2147483647 copies of its body, with those of the loops around it, are more than 4096}}
  nest.for "i" %i = 0 to 2147483647 unrolled {
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @two(%y: memref<100x100xf32>, %v: f32) {
  nest.for "i" %i = 0 to 100 unrolled {
    // expected-error @below {{cannot unroll the loop "j": 10000 copies of its body}}
    nest.for "j" %j = 0 to 100 unrolled {
      nest.store "y" %v, %y[%i, %j] : memref<100x100xf32>
    }
  }
  func.return
}
