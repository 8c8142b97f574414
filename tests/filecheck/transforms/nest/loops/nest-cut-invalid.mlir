// Cuts that are refused, and why; what Python may give as a point is tested in tests/unit/transforms/nest/test_nest_cut.py.
// RUN: opt-tool %s -p 'nest-cut{loop=i at=3}' --split-input-file --verify-diagnostics

func.func @marked(%x: f32, %y: memref<32xf32>) {
  // expected-error @below {{cannot cut the loop "i": it is vectorized already}}
  nest.for "i" %i = 0 to 32 vectorized(32) {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  func.return
}

// -----

func.func @lower(%x: f32, %n: index, %m: index, %y: memref<?xf32>) {
  // expected-error @below {{cannot cut the loop "i": its lower bound is a max of several expressions}}
  nest.for "i" %i = max(%n, %m) to 32 {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}
