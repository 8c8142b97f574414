// Peels that are refused, and why.
// RUN: opt-tool %s -p 'nest-peel{loop=i}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %S/nest-peel.mlir -p 'nest-peel{loop=i count=0}' --split-input-file 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: not opt-tool %S/nest-peel.mlir -p 'nest-peel{loop=i where=middle}' --split-input-file 2>&1 | filecheck %s --check-prefix=WHERE
// RUN: not opt-tool %s -p 'nest-peel{loop=i where=tail}' --split-input-file 2>&1 | filecheck %s --check-prefix=TAIL

// COUNT: error: cannot peel the loop "i" by 0: the count must be positive
// WHERE: error: {{.*}}middle
// TAIL: error: cannot peel the loop "i": it is parallel already
// TAIL: error: cannot peel the loop "i": its lower bound is a max of several expressions
// TAIL: error: cannot peel the loop "i": its upper bound is a min of several expressions

func.func @marked(%x: f32, %y: memref<32xf32>) {
  // expected-error @below {{cannot peel the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 32 parallel {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  func.return
}

// -----

func.func @lower(%x: f32, %n: index, %m: index, %y: memref<?xf32>) {
  // expected-error @below {{cannot peel the loop "i": its lower bound is a max of several expressions}}
  nest.for "i" %i = max(%n, %m) to 32 step 2 {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @both(%x: f32, %n: index, %m: index, %y: memref<?xf32>) {
  // expected-error @below {{cannot peel the loop "i": its lower bound is a max of several expressions}}
  nest.for "i" %i = max(%n, %m) to min(%n + 7, %m + 7) {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}
