// Tilings that are refused, and why; the steps were tried on a copy, and the notes are at the program's own operations.
// RUN: opt-tool %s -p 'nest-tile{loops=i,j sizes=4,4}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %S/nest-tile.mlir -p 'nest-tile{loops=i,j sizes=4}' --split-input-file 2>&1 | filecheck %s --check-prefix=SIZES
// RUN: not opt-tool %S/nest-tile.mlir -p 'nest-tile{loops=j,i sizes=4,4}' --split-input-file 2>&1 | filecheck %s --check-prefix=BAND
// RUN: not opt-tool %S/nest-tile.mlir -p 'nest-tile{loops=i,j sizes=4,0}' --split-input-file 2>&1 | filecheck %s --check-prefix=FACTOR
// RUN: not opt-tool %S/nest-tile.mlir -p 'nest-tile{loops=i,j sizes=4,3 tail=perfect}' --split-input-file 2>&1 | filecheck %s --check-prefix=PERFECT
// RUN: not opt-tool %s -p 'nest-tile{loops=i,j sizes=4,4 tail=clamp}' --split-input-file 2>&1 | filecheck %s --check-prefix=CLAMP
// RUN: not opt-tool %s -p 'nest-tile{loops=i,j sizes=4,4 tail=mask}' --split-input-file 2>&1 | filecheck %s --check-prefix=MASK

// SIZES: error: cannot tile the loops i, j: 1 sizes given for 2 loops
// BAND: error: cannot tile the loops j, i: they are not perfectly nested in this order
// FACTOR: error: cannot tile the loops i, j: the factor must be positive
// PERFECT: error: cannot tile the loops i, j: it has 10 iterations
// PERFECT: error: cannot tile the loops i, j: it has an unknown number of iterations

func.func @turned(%n: index, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot tile the loops i, j: it turns a flow dependence around}}
  nest.for "i" %i = 1 to %n {
    nest.for "j" %j = 0 to %n - 1 {
      // expected-note @below {{reads the same element in a later one}}
      %a = nest.load %y[%i - 1, %j + 1] : memref<?x?xf32>
      // expected-note @below {{writes "y" in an earlier iteration of "i"}}
      nest.store "y" %a, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @checks(%n: index, %x: f32, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot tile the loops i, j: an error must be that of the first iteration in program order}}
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %n {
      // expected-note @below {{this check can fail}}
      %k = nest.index %j - %i of %n axis 1 of "y"
      nest.store "y" %x, %y[%i, %k] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @marked(%x: f32, %y: memref<8x8xf32>) {
  // expected-error @below {{cannot tile the loops i, j: it is parallel already}}
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to 8 parallel {
      nest.store "y" %x, %y[%i, %j] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

func.func @triangle(%n: index, %x: f32, %y: memref<?x?xf32>) {
  nest.for "i" %i = 0 to %n {
    // expected-error @below {{cannot tile the loops i, j with a remainder: the bounds of "j" use the variable of "i"}}
    nest.for "j" %j = 0 to %i {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @min(%n: index, %m: index, %x: f32, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot tile the loops i, j with a remainder: the upper bound of "i" is a min of several expressions}}
  nest.for "i" %i = 0 to min(%n, %m) {
    nest.for "j" %j = 0 to %n {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @imperfect(%n: index, %x: f32, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot tile the loops i, j: they are not perfectly nested in this order}}
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i, 0] : memref<?x?xf32>
    // expected-note @below {{"j" is here}}
    nest.for "j" %j = 1 to %n {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @skewed(%x: f32, %y: memref<8x16xf32>) {
  nest.for "i" %i = 0 to 8 {
    // CLAMP: error: cannot tile the loops i, j: its first iteration depends on loops around it, and its step is not 1
    // expected-error @below {{cannot tile the loops i, j with a remainder: the bounds of "j" use the variable of "i"}}
    nest.for "j" %j = %i to 16 step 2 {
      nest.store "y" %x, %y[%i, %j] : memref<8x16xf32>
    }
  }
  func.return
}

// -----

// The blocks of "j" line up at multiples of 4: also the first one would read %p before its first element.
func.func @before(%p: memref<16xi1>, %x: f32, %y: memref<16x16xf32>) {
  nest.for "i" %i = 0 to 16 {
    // MASK: error: cannot tile the loops i, j: iterations outside of its bounds would read elements that the program does not, and no domain keeps them from it
    // expected-error @below {{cannot tile the loops i, j with a remainder: the bounds of "j" use the variable of "i"}}
    nest.for "j" %j = %i to 16 {
      %c = nest.load %p[%j - %i] : memref<16xi1>
      nest.if %c {
        nest.store "y" %x, %y[%i, %j] : memref<16x16xf32>
      }
    }
  }
  func.return
}

// -----

func.func @several(%y: memref<?x16xf32>, %n: index, %m: index) {
  %x = arith.constant 0.0 : f32
  // expected-error @below {{cannot tile the loop "i": its lower bound is a max of several expressions}}
  nest.for "i" %i = max(0, %m) to %n {
    nest.for "j" %j = 0 to 16 {
      nest.store "y" %x, %y[%i, %j] : memref<?x16xf32>
    }
  }
  func.return
}
