// Loops that may run more or less than once stay.
// RUN: opt-tool %s -p 'nest-remove-unit-loop{loop=i}' --split-input-file --verify-diagnostics

func.func @never(%n: index, %x: f32, %y: memref<?xf32>) {
  // expected-error @below {{cannot remove the loop "i": it may run no iteration}}
  nest.for "i" %i = 0 to min(%n, 1) {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @twice(%x: f32, %y: memref<2xf32>) {
  // expected-error @below {{cannot remove the loop "i": it may run more than one iteration}}
  nest.for "i" %i = 0 to 2 {
    nest.store "y" %x, %y[%i] : memref<2xf32>
  }
  func.return
}

// -----

func.func @often(%x: f32, %y: memref<?xf32> {nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  // expected-error @below {{cannot remove the loop "i": it may run more than one iteration}}
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @which(%x: f32, %y: memref<99xf32>) {
  nest.for "k" %k = 0 to 9 {
    // expected-error @below {{cannot remove the loop "i": its one iteration is a max or min of several expressions}}
    nest.for "i" %i = max(%k, 8 - %k) to 9 step 9 {
      nest.store "y" %x, %y[%i] : memref<99xf32>
    }
  }
  func.return
}

// -----

func.func @bound(%x: f32, %y: memref<1xf32>) {
  // expected-error @below {{cannot remove the loop "i": it is bound to thread.x already}}
  nest.for "i" %i = 0 to 1 bind "thread.x" {
    nest.store "y" %x, %y[%i] : memref<1xf32>
  }
  func.return
}
