// On a GPU an unrolled loop has constant bounds: a branch around a copy might hold back threads from a barrier in it.
// RUN: opt-tool %s -p convert-nest-to-gpu --split-input-file --verify-diagnostics

func.func @ends_early(%y: memref<?xf32>, %v: f32, %n: index) {
  // expected-error @below {{the loop "i" is marked unrolled, but its bounds are not constant}}
  nest.for "i" %i = 0 to min(%n, 5) unrolled {
    nest.store "y" %v, %y[%i] : memref<?xf32>
  }
  func.return
}
