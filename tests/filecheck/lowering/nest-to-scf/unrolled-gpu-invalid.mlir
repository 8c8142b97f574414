// On a GPU an unrolled loop has a constant among its upper bounds.
// RUN: opt-tool %s -p convert-nest-to-gpu --split-input-file --verify-diagnostics

func.func @unknown(%y: memref<?xf32>, %v: f32, %n: index) {
  // expected-error @below {{the loop "i" is marked unrolled, but its bounds are not constant}}
  nest.for "i" %i = 0 to %n unrolled {
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}
