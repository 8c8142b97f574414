// Loops that neither memory nor a division by a constant allows to flatten; the note is at the access at fault.
// RUN: opt-tool %s -p 'nest-flatten{loop=i}' --split-input-file --verify-diagnostics

func.func @imperfect(%x: f32, %y: memref<5xf32>) {
  // expected-error @below {{cannot flatten the loop "i": its body is not one loop}}
  nest.for "i" %i = 0 to 5 {
    nest.store "y" %x, %y[%i] : memref<5xf32>
  }
  func.return
}

// -----

func.func @bounds(%m: index, %x: f32, %y: memref<5x7xf32>) {
  // expected-error @below {{cannot flatten the loops "i" and "j": they must run in steps of 1 to one bound each, the inner one from 0}}
  nest.for "i" %i = 0 to 5 {
    // expected-note @below {{here}}
    nest.for "j" %j = 1 to %m {
      nest.store "y" %x, %y[%i, %j] : memref<5x7xf32>
    }
  }
  func.return
}

// -----

func.func @triangle(%x: f32, %y: memref<5x5xf32>) {
  // expected-error @below {{its extent depends on the outer loop}}
  nest.for "i" %i = 0 to 5 {
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to %i {
      nest.store "y" %x, %y[%i, %j] : memref<5x5xf32>
    }
  }
  func.return
}

// -----

func.func @part(%m: index, %x: f32, %y: memref<5x9xf32>) {
  // expected-error @below {{the loop "j" does not span the axis 1}}
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to %m {
      // expected-note @below {{here}}
      nest.store "y" %x, %y[%i, %j] : memref<5x9xf32>
    }
  }
  func.return
}

// -----

func.func @strided(%m: index, %x: f32, %y: memref<5x7xf32, strided<[?, 1]>>) {
  // expected-error @below {{the buffer is not known to be contiguous}}
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to %m {
      // expected-note @below {{here}}
      nest.store "y" %x, %y[%i, %j] : memref<5x7xf32, strided<[?, 1]>>
    }
  }
  func.return
}

// -----

func.func @transposed(%m: index, %x: f32, %y: memref<7x5xf32>) {
  // expected-error @below {{the access does not use [%i, %j] as adjacent indices}}
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to %m {
      // expected-note @below {{here}}
      nest.store "y" %x, %y[%j, %i] : memref<7x5xf32>
    }
  }
  func.return
}

// -----

func.func @number(%y: memref<5x?xi64>) {
  %c1 = arith.constant 1 : index
  %m = memref.dim %y, %c1 : memref<5x?xi64>
  // expected-error @below {{this operation uses a loop variable as a number}}
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to %m {
      // expected-note @below {{here}}
      %a = arith.index_cast %i : index to i64
      nest.store "y" %a, %y[%i, %j] : memref<5x?xi64>
    }
  }
  func.return
}

// -----

func.func @domain(%m: index, %x: f32, %y: memref<5x7xf32>) {
  // expected-error @below {{the statement has a domain of its own}}
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to %m {
      // expected-note @below {{here}}
      nest.store "y" %x, %y[%i, %j] where (%j < 3) : memref<5x7xf32>
    }
  }
  func.return
}

// -----

func.func @marked(%x: f32, %y: memref<5x7xf32>) {
  // expected-error @below {{cannot flatten the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 5 parallel {
    nest.for "j" %j = 0 to 7 {
      nest.store "y" %x, %y[%i, %j] : memref<5x7xf32>
    }
  }
  func.return
}

// -----

func.func @shifted(%m: index, %n: index, %x: f32, %y: memref<?x7xf32>) {
  // expected-error @below {{cannot flatten the loops "i" and "j": they must run in steps of 1 to one bound each, the inner one from 0}}
  // expected-note @below {{here}}
  nest.for "i" %i = max(2, %m) to %n {
    nest.for "j" %j = 0 to %m {
      nest.store "y" %x, %y[%i, %j] : memref<?x7xf32>
    }
  }
  func.return
}

// -----

func.func @step(%m: index, %x: f32, %y: memref<5x7xf32>) {
  // expected-error @below {{cannot flatten the loops "i" and "j": they must run in steps of 1 to one bound each, the inner one from 0}}
  nest.for "i" %i = 0 to 5 {
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to %m step 2 {
      nest.store "y" %x, %y[%i, %j] : memref<5x7xf32>
    }
  }
  func.return
}

// -----

func.func @both(%n: index, %m: index, %x: f32, %y: memref<?x7xf32>) {
  // expected-error @below {{cannot flatten the loops "i" and "j": they must run in steps of 1 to one bound each, the inner one from 0}}
  // expected-note @below {{here}}
  nest.for "i" %i = 0 to min(%n, %m) {
    nest.for "j" %j = 0 to %m {
      nest.store "y" %x, %y[%i, %j] : memref<?x7xf32>
    }
  }
  func.return
}

// -----

func.func @inner_marked(%x: f32, %y: memref<5x7xf32>) {
  nest.for "i" %i = 0 to 5 {
    // expected-error @below {{cannot flatten the loop "j": it is vectorized already}}
    nest.for "j" %j = 0 to 7 vectorized(8) {
      nest.store "y" %x, %y[%i, %j] : memref<5x7xf32>
    }
  }
  func.return
}

// -----

// With both below 0 the loops are empty, and the product is not.
func.func @negative(%n: index, %m: index, %x: i32, %s: memref<i32>) {
  // expected-error @below {{cannot flatten the loops "i" and "j": neither bound is known not to be negative}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to %m {
      nest.accumulate "s" add %x, %s[] : memref<i32>
    }
  }
  func.return
}

// -----

func.func @private(%x: memref<5x?xf32>) {
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c1 : memref<5x?xf32>
  // expected-error @below {{cannot flatten the loops "i" and "j": the buffer is made in each iteration}}
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to %m {
      %t = nest.alloc "t"(%m) : memref<5x?xf32>
      %a = nest.load %x[%i, %j] : memref<5x?xf32>
      nest.store "t" %a, %t[%i, %j] : memref<5x?xf32>
      // expected-note @below {{here}}
      %b = nest.load %t[%i, %j] : memref<5x?xf32>
      nest.store "x" %b, %x[%i, %j] : memref<5x?xf32>
    }
  }
  func.return
}
