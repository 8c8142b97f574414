// Unrolled loops that would become too many copies: alone, and with the unrolled loop around them.
// RUN: opt-tool %s -p convert-nest-to-scf --split-input-file --verify-diagnostics

func.func @one(%y: memref<?xf32>, %v: f32) {
  // expected-error @below {{the loop "i" is marked unrolled: 2147483647 copies of its body, and those around it, are more than 4096}}
  nest.for "i" %i = 0 to 2147483647 unrolled {
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @two(%y: memref<100x100xf32>, %v: f32) {
  nest.for "i" %i = 0 to 100 unrolled {
    // expected-error @below {{the loop "j" is marked unrolled: 10000 copies of its body}}
    nest.for "j" %j = 0 to 100 unrolled {
      nest.store "y" %v, %y[%i, %j] : memref<100x100xf32>
    }
  }
  func.return
}
