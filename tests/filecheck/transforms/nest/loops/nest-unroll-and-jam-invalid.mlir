// Loops that cannot be unrolled and jammed, and why.
// RUN: opt-tool %s -p 'nest-unroll-and-jam{loop=i factor=4}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %S/nest-unroll-and-jam.mlir -p 'nest-unroll-and-jam{loop=i factor=0}' --split-input-file 2>&1 | filecheck %s --check-prefix=ZERO
// RUN: not opt-tool %S/nest-unroll-and-jam.mlir -p 'nest-unroll-and-jam{loop=i factor=3}' --split-input-file 2>&1 | filecheck %s --check-prefix=THREE
// RUN: not opt-tool %S/nest-unroll-and-jam.mlir -p 'nest-unroll-and-jam{loop=i factor=65}' --split-input-file 2>&1 | filecheck %s --check-prefix=MANY

// ZERO: error: cannot unroll and jam the loop "i" by 0: the factor must be positive
// THREE: error: cannot unroll and jam the loop "i": it turns a flow dependence around
// MANY: error: cannot unroll and jam the loop "i": 65 copies of its body are more than 64

func.func @turned(%n: index, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot unroll and jam the loop "i": it turns a flow dependence around}}
  nest.for "i" %i = 1 to %n {
    nest.for "j" %j = 0 to %n - 1 {
      // expected-note @below {{reads the same element in a later one, and would run before it}}
      %a = nest.load %y[%i - 1, %j + 1] : memref<?x?xf32>
      // expected-note @below {{writes "y" in an earlier iteration}}
      nest.store "y" %a, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// The statement before the inner loop would run for all iterations of a block before the loop does.
func.func @place(%n: index, %x: f32, %s: memref<f32>, %y: memref<?xf32>) {
  // expected-error @below {{cannot unroll and jam the loop "i": it turns an anti dependence around}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{writes the same element in a later one, and would run before it}}
    nest.store "s" %x, %s[] : memref<f32>
    nest.for "j" %j = 0 to %n {
      // expected-note @below {{reads "s" in an earlier iteration}}
      %a = nest.load %s[] : memref<f32>
      nest.store "y" %a, %y[%i] : memref<?xf32>
    }
  }
  func.return
}

// -----

func.func @triangle(%n: index, %x: f32, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot unroll and jam the loop "i": the bounds of "j" depend on the iteration of "i"}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{that loop is here}}
    nest.for "j" %j = 0 to %i {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

// Without a loop inside, the loads of all copies stand before their stores.
func.func @single(%n: index, %y: memref<?xf32>) {
  // expected-error @below {{cannot unroll and jam the loop "i": it turns a flow dependence around}}
  nest.for "i" %i = 3 to %n {
    // expected-note @below {{reads the same element in a later one, and would run before it}}
    %a = nest.load %y[%i - 3] : memref<?xf32>
    // expected-note @below {{writes "y" in an earlier iteration}}
    nest.store "y" %a, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// The blocks start at 2: `%i floordiv 4` differs inside of them.
func.func @blocks(%n: index, %x: f32, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot unroll and jam the loop "i": the bounds of "j" depend on the iteration of "i"}}
  nest.for "i" %i = 2 to %n {
    // expected-note @below {{that loop is here}}
    nest.for "j" %j = 0 to %i floordiv 4 {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @marked(%n: index, %x: f32, %y: memref<?x?xf32>) {
  nest.for "i" %i = 0 to %n {
    // expected-error @below {{cannot unroll and jam the loop "j": it is parallel already}}
    nest.for "j" %j = 0 to %n parallel {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @lower(%n: index, %m: index, %x: f32, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot unroll and jam the loop "i" by 4: its lower bound is a max of several expressions}}
  nest.for "i" %i = max(%m, %n) to 99 {
    nest.for "j" %j = 0 to %n {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @upper(%n: index, %m: index, %x: f32, %y: memref<?x?xf32>) {
  // expected-error @below {{cannot unroll and jam the loop "i" by 4: its upper bound is a min of several expressions}}
  nest.for "i" %i = 0 to min(%m, %n) {
    nest.for "j" %j = 0 to %n {
      nest.store "y" %x, %y[%i, %j] : memref<?x?xf32>
    }
  }
  func.return
}

// -----

func.func @checks(%n: index, %x: f32, %y: memref<?x?xf32>) {
  // expected-error @below {{an error must be that of the first iteration in program order}}
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %n {
      // expected-note @below {{this check can fail}}
      %k = nest.index %j - %i of %n axis 1 of "y"
      nest.store "y" %x, %y[%i, %k] : memref<?x?xf32>
    }
  }
  func.return
}
