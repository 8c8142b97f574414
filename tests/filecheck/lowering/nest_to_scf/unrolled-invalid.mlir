// Unrolled loops whose copies cannot be counted.
// RUN: opt-tool %s -p convert-nest-to-scf --split-input-file --verify-diagnostics
// RUN: opt-tool %s -p convert-nest-to-gpu --split-input-file --verify-diagnostics

func.func @unknown_start(%y: memref<?xf32>, %v: f32, %n: index) {
  // expected-error @below {{the loop "i" is marked unrolled, but its bounds are not constant}}
  nest.for "i" %i = %n to 5 unrolled {
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @unknown_end(%y: memref<?xf32>, %v: f32, %n: index) {
  // expected-error @below {{the loop "i" is marked unrolled, but its bounds are not constant}}
  nest.for "i" %i = 0 to %n unrolled {
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}
