// Orders that are refused: the notes are at the two accesses.
// RUN: opt-tool %s -p 'nest-reorder{loops=j,i}' --split-input-file --verify-diagnostics

func.func @turned(%n: index, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot reorder the loops to j, i: it turns a flow dependence around, which the loop "i" carries}}
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

func.func @triangle(%n: index, %x: f32, %y: memref<?x?xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "i" %i = 0 to %n {
    // expected-error @below {{cannot reorder the loops to j, i: the bounds of "j" use the variable of "i"}}
    nest.for "j" %j = 0 to %i step 2 {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @imperfect(%n: index, %x: f32, %y: memref<?x?xf32>) {
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i, 0] : memref<?x?xf32>
    // expected-error @below {{cannot reorder the loops to j, i: they are not perfectly nested}}
    nest.for "j" %j = 1 to %n {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @checks(%n: index, %x: f32, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot reorder the loops to j, i: an error must be that of the first iteration in program order}}
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

func.func @ordered(%n: index, %x: memref<?x?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot reorder the loops to j, i: it turns a flow dependence around}}
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %n {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      // expected-note @below {{writes "s" in an earlier iteration and reads it again in a later one}}
      nest.accumulate "s" add %a, %s[] order(sequential) : memref<f32>
    }
  }
  func.return
}

// -----

// A divided bound of which only multiples count is not linear.
func.func @curved(%n: index, %x: f32, %y: memref<?x?xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "i" %i = 0 to %n {
    // expected-error @below {{the bounds of "j" use the variable of "i"}}
    nest.for "j" %j = 0 to %i mod 4 {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// (1, 1) stays positive, but outside of "i" the loop "j" would carry it.
func.func @marked(%n: index, %y: memref<?x?xf32>) {
  nest.for "i" %i = 1 to %n {
    // expected-error @below {{cannot reorder the loops to j, i: "j" is parallel already}}
    nest.for "j" %j = 1 to %n parallel {
      %a = nest.load %y[%i - 1, %j - 1] : memref<?x?xf32>
      nest.store "y" %a, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @bound(%x: f32, %y: memref<8x8xf32>) {
  // expected-error @below {{cannot reorder the loops to j, i: "i" is bound to block.x already}}
  nest.for "i" %i = 0 to 8 bind "block.x" {
    nest.for "j" %j = 0 to 8 {
      nest.store "y" %x, %y[%i, %j] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

// Inside of "j" the loop would start at %j + 1, and an unrolled loop has constant bounds.
func.func @unrolled(%x: f32, %y: memref<8x8xf32>) {
  // expected-error @below {{cannot reorder the loops to j, i: "i" is unrolled already}}
  nest.for "i" %i = 0 to 8 unrolled {
    nest.for "j" %j = 0 to %i {
      nest.store "y" %x, %y[%i, %j] : memref<8x8xf32>
    }
  }
  func.return
}
