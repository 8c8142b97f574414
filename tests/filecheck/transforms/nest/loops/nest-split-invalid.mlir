// Splits that are refused, and why.
// RUN: opt-tool %s -p 'nest-split{loop=i factor=16}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %S/nest-split.mlir -p 'nest-split{loop=k factor=16}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not opt-tool %S/nest-split.mlir -p 'nest-split{loop=i factor=0}' --split-input-file 2>&1 | filecheck %s --check-prefix=FACTOR
// RUN: not opt-tool %S/nest-split.mlir -p 'nest-split{loop=i factor=48 tail=perfect}' --split-input-file 2>&1 | filecheck %s --check-prefix=PERFECT

// NAME: error: unknown loop "k"
// NAME: help: loops here: i
// FACTOR: error: cannot split the loop "i" by 0: the factor must be positive
// PERFECT: error: cannot split the loop "i" perfectly by 48: it has 64 iterations
// PERFECT: error: cannot split the loop "i" perfectly by 48: it has an unknown number of iterations

func.func @marked(%x: f32, %y: memref<32xf32>) {
  // expected-error @below {{cannot split the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 32 parallel {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  func.return
}

// -----

func.func @lower(%x: f32, %n: index, %m: index, %y: memref<?xf32>) {
  // expected-error @below {{cannot split the loop "i": its lower bound is a max of several expressions}}
  nest.for "i" %i = max(%n, %m) to 32 {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @upper(%x: f32, %n: index, %m: index, %y: memref<?xf32>) {
  // expected-error @below {{cannot split the loop "i" with a remainder: its upper bound is a min of several expressions}}
  nest.for "i" %i = 0 to min(%n, %m) {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @twice(%x: f32, %y: memref<32xf32>) {
  // expected-error @below {{there are 2 loops called "i"}}
  nest.for "i" %i = 0 to 32 {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  // expected-note @below {{another one is here}}
  nest.for "i" %i = 0 to 32 {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  func.return
}
