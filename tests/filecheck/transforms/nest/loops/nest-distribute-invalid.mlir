// Loops that cannot be distributed, and why.
// RUN: opt-tool %s -p 'nest-distribute{loop=i after=y}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %S/nest-distribute.mlir -p 'nest-distribute{loop=i after=2}' --split-input-file 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: not opt-tool %S/nest-distribute.mlir -p 'nest-distribute{loop=i after=0}' --split-input-file 2>&1 | filecheck %s --check-prefix=ZERO
// RUN: not opt-tool %s -p 'nest-distribute{loop=i}' --split-input-file 2>&1 | filecheck %s --check-prefix=EVERY
// RUN: not opt-tool %s -p 'nest-distribute{loop=i after=w}' --split-input-file 2>&1 | filecheck %s --check-prefix=LABELS

// COUNT: error: cannot distribute the loop "i": it cannot be cut after 2 pieces: its body has 2
// ZERO: error: cannot distribute the loop "i": it cannot be cut after 0 pieces: its body has 2

func.func @backwards(%n: index, %x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) {
  // EVERY: error: cannot distribute the loop "i": it turns a flow dependence around
  // expected-error @below {{cannot distribute the loop "i": it turns a flow dependence around}}
  nest.for "i" %i = 1 to %n {
    // expected-note @below {{reads the same element in a later one, and would run before it}}
    %a = nest.load %z[%i - 1] : memref<?xf32>
    nest.store "y" %a, %y[%i] : memref<?xf32>
    %b = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{writes "z" in an earlier iteration}}
    nest.store "z" %b, %z[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @value(%n: index, %x: f32, %y: memref<?xf32>, %z: memref<?xf32>) {
  // EVERY: error: cannot distribute the loop "i": the second part uses a value that cannot be loaded again
  // EVERY: help: store the value in a buffer with an axis for the iterations of the loop
  // expected-error @below {{the second part uses a value that cannot be loaded again after the first}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{the value is loaded here}}
    %a = nest.load %y[%i] : memref<?xf32>
    // expected-note @below {{this overwrites the element}}
    nest.store "y" %x, %y[%i] : memref<?xf32>
    nest.store "z" %a, %z[%i] : memref<?xf32>
  }
  func.return
}

// -----

// The load is needed in the second part only, but the first loop would overwrite what it reads in later iterations.
func.func @ahead(%n: index, %x: f32, %y: memref<?xf32>, %z: memref<?xf32>) {
  // expected-error @below {{the second part uses a value that cannot be loaded again after the first}}
  nest.for "i" %i = 0 to %n - 1 {
    // expected-note @below {{the value is loaded here}}
    %a = nest.load %y[%i + 1] : memref<?xf32>
    // expected-note @below {{this overwrites the element}}
    nest.store "y" %x, %y[%i] : memref<?xf32>
    nest.store "u" %a, %z[0] : memref<?xf32>
  }
  func.return
}

// -----

func.func @private(%n: index, %x: f32, %y: memref<?xf32>) {
  // EVERY: error: cannot distribute the loop "i": both parts use a buffer that each iteration makes for itself
  // EVERY: help: move the allocation out of the loop, with an axis for its iterations
  // expected-error @below {{both parts use a buffer that each iteration makes for itself}}
  nest.for "i" %i = 1 to %n {
    // expected-note @below {{cannot expand the buffer "t" over the loop "i": its extent is not known before the loop}}
    // expected-note @below {{the buffer is made here}}
    %t = nest.alloc "t"(%i) : memref<?xf32>
    nest.store "y" %x, %t[%i - 1] : memref<?xf32>
    // expected-note @below {{the second part starts here}}
    %a = nest.load %t[%i - 1] : memref<?xf32>
    nest.store "z" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// A value of the first part, of a buffer that the first part overwrites.
func.func @overwritten(%n: index, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{the second part uses a value that cannot be loaded again after the first}}
  nest.for "i" %i = 0 to %n {
    %t = nest.alloc "t" : memref<f32>
    nest.store "t" %x, %t[] : memref<f32>
    // expected-note @below {{the value is loaded here}}
    %a = nest.load %t[] : memref<f32>
    %b = arith.addf %a, %a : f32
    // expected-note @below {{this overwrites the element}}
    nest.store "y" %b, %t[] : memref<f32>
    %c = nest.load %t[] : memref<f32>
    %d = arith.mulf %a, %c : f32
    nest.store "z" %d, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @call(%n: index, %y: memref<?xf32>, %z: memref<?xf32>) {
  // expected-error @below {{the second part uses a value that cannot be computed again}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{the value is made here}}
    %a = func.call @g() : () -> f32
    nest.store "y" %a, %y[%i] : memref<?xf32>
    // expected-note @below {{the second part starts here}}
    nest.store "z" %a, %z[%i] : memref<?xf32>
  }
  func.return
}
func.func private @g() -> f32

// -----

func.func @single(%n: index, %x: f32, %y: memref<?xf32>) {
  // EVERY: error: cannot distribute the loop "i": its body is one piece
  // expected-error @below {{cannot distribute the loop "i": its body is one piece}}
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @unnamed(%n: index, %x: f32, %y: memref<?xf32>, %z: memref<?xf32>) {
  // expected-error @below {{nothing directly in its body is called "y"}}
  nest.for "i" %i = 0 to %n {
    nest.store "z" %x, %z[%i] : memref<?xf32>
    nest.for "j" %j = 0 to 4 {
      nest.store "y" %x, %y[%i] : memref<?xf32>
    }
  }
  func.return
}

// -----

func.func @twice(%n: index, %x: f32, %y: memref<?xf32>, %z: memref<?xf32>) {
  // expected-error @below {{2 pieces of its body are called "y"}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{one is here}}
    nest.store "y" %x, %y[%i] : memref<?xf32>
    // expected-note @below {{one is here}}
    nest.store "y" %x, %z[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @last(%n: index, %x: f32, %y: memref<?xf32>, %z: memref<?xf32>) {
  // expected-error @below {{nothing comes after "y"}}
  nest.for "i" %i = 0 to %n {
    nest.store "z" %x, %z[%i] : memref<?xf32>
    // expected-note @below {{here}}
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @marked(%x: f32, %y: memref<32xf32>, %z: memref<32xf32>) {
  // expected-error @below {{cannot distribute the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 32 parallel {
    nest.store "y" %x, %y[%i] : memref<32xf32>
    nest.store "z" %x, %z[%i] : memref<32xf32>
  }
  func.return
}

// -----

func.func @checks(%n: index, %x: f32, %y: memref<?xf32>, %z: memref<?xf32>) {
  // expected-error @below {{an error must be that of the first iteration in program order}}
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
    // expected-note @below {{this check can fail}}
    %k = nest.index %i + 1 of %n axis 0 of "z"
    nest.store "z" %x, %z[%k] : memref<?xf32>
  }
  func.return
}

// -----

func.func @unlabelled(%n: index, %x: f32, %y: memref<?xf32>, %z: memref<?xf32>) {
  // LABELS: help: pieces: none has a label
  // expected-error @below {{cannot distribute the loop "i": nothing directly in its body is called "y"}}
  nest.for "i" %i = 0 to %n {
    nest.store %x, %y[%i] : memref<?xf32>
    nest.store %x, %z[%i] : memref<?xf32>
  }
  func.return
}
