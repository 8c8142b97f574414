// A loop whose first iteration is not one expression cannot be counted from it.
// RUN: opt-tool %s -p 'nest-normalise{loop=i}' --split-input-file --verify-diagnostics

func.func @lower(%n: index, %m: index, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{cannot normalise the loop "i": its lower bound is a max of several expressions}}
  nest.for "i" %i = max(%n, %m) to 32 {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}
