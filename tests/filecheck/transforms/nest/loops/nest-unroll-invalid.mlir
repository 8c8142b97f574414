// Loops that cannot be unrolled, and why.
// RUN: opt-tool %s -p 'nest-unroll{loop=i}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %S/nest-split.mlir -p 'nest-unroll{loop=i factor=0}' --split-input-file 2>&1 | filecheck %s --check-prefix=ZERO
// RUN: not opt-tool %S/nest-split.mlir -p 'nest-unroll{loop=i factor=65}' --split-input-file 2>&1 | filecheck %s --check-prefix=MANY
// RUN: not opt-tool %S/nest-split-invalid.mlir -p 'nest-unroll{loop=i factor=4}' --split-input-file 2>&1 | filecheck %s --check-prefix=BOUNDS

// ZERO: error: cannot unroll the loop "i" by 0: the factor must be positive
// MANY: error: cannot unroll the loop "i": 65 copies of its body are more than 64
// BOUNDS: error: cannot unroll the loop "i" by 4: its lower bound is a max of several expressions
// BOUNDS: error: cannot unroll the loop "i" by 4: its upper bound is a min of several expressions

func.func @marked(%x: f32, %y: memref<32xf32>) {
  // expected-error @below {{cannot unroll the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 32 parallel {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  func.return
}

// -----

func.func @symbolic(%n: index, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{cannot unroll the loop "i": the number of its iterations is not known}}
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @many(%x: f32, %y: memref<65xf32>) {
  // expected-error @below {{cannot unroll the loop "i": 65 copies of its body are more than 64}}
  nest.for "i" %i = 0 to 65 {
    nest.store "y" %x, %y[%i] : memref<65xf32>
  }
  func.return
}
