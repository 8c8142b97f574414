// Loops that nest-widen refuses, and why.
// RUN: opt-tool %s -p 'nest-widen{loop=i within=d}' --split-input-file --verify-diagnostics

func.func @marked(%x: f32, %y: memref<8x32xf32>) {
  nest.for "d" %d = 0 to 8 {
    // expected-error @below {{cannot widen the loop "i": it is parallel already}}
    nest.for "i" %i = 0 to %d parallel {
      nest.store "y" %x, %y[%d, %i] : memref<8x32xf32>
    }
  }
  func.return
}

// -----

func.func @beside(%x: f32, %y: memref<8xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "d" %d = 0 to 8 {
    nest.store "y" %x, %y[%d] : memref<8xf32>
  }
  // expected-error @below {{cannot widen the loop "i": it is not inside of the loop "d"}}
  nest.for "i" %i = 0 to 8 {
    nest.store "y" %x, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @same(%x: f32, %y: memref<8x32xf32>) {
  nest.for "d" %d = 0 to 8 {
    // expected-error @below {{cannot widen the loop "i": its range is the same in all iterations of "d"}}
    nest.for "i" %i = 0 to 32 {
      nest.store "y" %x, %y[%d, %i] : memref<8x32xf32>
    }
  }
  func.return
}

// -----

func.func @step(%x: f32, %y: memref<8x32xf32>) {
  nest.for "d" %d = 0 to 8 {
    // expected-error @below {{cannot widen the loop "i": its step is 2}}
    nest.for "i" %i = %d to 32 step 2 {
      nest.store "y" %x, %y[%d, %i] : memref<8x32xf32>
    }
  }
  func.return
}

// -----

func.func @divided(%x: f32, %y: memref<8x32xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "d" %d = 0 to 8 {
    // expected-error @below {{cannot widen the loop "i": its bounds are no linear function of the loop "d"}}
    nest.for "i" %i = 0 to %d floordiv 2 {
      nest.store "y" %x, %y[%d, %i] : memref<8x32xf32>
    }
  }
  func.return
}

// -----

func.func @bound(%x: f32, %n: memref<8xindex>, %y: memref<8x32xf32>) {
  nest.for "d" %d = 0 to 8 {
    // expected-error @below {{cannot widen the loop "i": a branch would be around "j"}}
    nest.for "i" %i = 0 to %d {
      %k = nest.load %n[%i] : memref<8xindex>
      nest.store "n" %k, %n[%k] : memref<8xindex>
      // expected-note @below {{it is bound to thread.x}}
      nest.for "j" %j = 0 to 32 bind "thread.x" {
        %l = nest.load %n[%i] : memref<8xindex>
        %p = arith.cmpi slt, %l, %d : index
        nest.if %p {
          nest.store "y" %x, %y[%i, %j] : memref<8x32xf32>
        }
      }
    }
  }
  func.return
}
