// Reductions that cannot be factored, and why.
// RUN: opt-tool %s -p 'nest-rfactor{loop=v}' --split-input-file --verify-diagnostics

func.func @outermost(%x: memref<16xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot factor the reductions of the loop "v": no loop is directly around it}}
  nest.for "v" %v = 0 to 16 {
    %a = nest.load %x[%v] : memref<16xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @triangle(%n: index, %x: memref<?x?xf32>, %s: memref<f32>) {
  nest.for "o" %o = 0 to %n {
    // expected-error @below {{how often it runs is not known before the loop "o"}}
    nest.for "v" %v = 0 to %o {
      %a = nest.load %x[%o, %v] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
  }
  func.return
}

// -----

func.func @none(%n: index, %x: memref<?x16xf32>, %s: memref<?xf32>) {
  nest.for "o" %o = 0 to %n {
    // expected-error @below {{no reduction in its body goes to one element in all iterations}}
    nest.for "v" %v = 0 to 16 {
      %a = nest.load %x[%o, %v] : memref<?x16xf32>
      nest.accumulate "s" add %a, %s[%o] : memref<?xf32>
    }
  }
  func.return
}

// -----

func.func @order(%n: index, %x: memref<?x16xf32>, %s: memref<f32>) {
  nest.for "o" %o = 0 to %n {
    // expected-error @below {{the reduction's order is sequential}}
    nest.for "v" %v = 0 to 16 {
      %a = nest.load %x[%o, %v] : memref<?x16xf32>
      // expected-note @below {{the reduction is here}}
      nest.accumulate "s" add %a, %s[] order(sequential) : memref<f32>
    }
  }
  func.return
}

// -----

func.func @custom(%n: index, %x: memref<?x16xf32>, %s: memref<f32>) {
  nest.for "o" %o = 0 to %n {
    // expected-error @below {{the custom combiner is not declared associative (it states no identity)}}
    nest.for "v" %v = 0 to 16 {
      %a = nest.load %x[%o, %v] : memref<?x16xf32>
      // expected-note @below {{the reduction is here}}
      nest.accumulate "s" custom %a, %s[] {
      ^bb0(%old: f32, %new: f32):
        %c = arith.subf %old, %new : f32
        nest.yield %c : f32
      } : memref<f32>
    }
  }
  func.return
}

// -----

func.func @observed(%n: index, %x: memref<?x16xf32>, %s: memref<f32>, %y: memref<?x16xf32>) {
  nest.for "o" %o = 0 to %n {
    // expected-error @below {{the reduction's element is used elsewhere in the loop "o"}}
    nest.for "v" %v = 0 to 16 {
      %a = nest.load %x[%o, %v] : memref<?x16xf32>
      // expected-note @below {{the reduction is here}}
      nest.accumulate "s" add %a, %s[] : memref<f32>
      // expected-note @below {{the other access is here}}
      %b = nest.load %s[] : memref<f32>
      nest.store "y" %b, %y[%o, %v] : memref<?x16xf32>
    }
  }
  func.return
}

// -----

func.func @marked(%n: index, %x: memref<?x16xf32>, %s: memref<f32>) {
  nest.for "o" %o = 0 to %n {
    // expected-error @below {{cannot factor the loop "v": it is vectorized already}}
    nest.for "v" %v = 0 to 16 vectorized(16) {
      %a = nest.load %x[%o, %v] : memref<?x16xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
  }
  func.return
}

// -----

func.func @left_out(%x: memref<?xf32>, %n: index, %m: index, %s: memref<?xf32>) {
  nest.for "i" %i = 0 to %m {
    nest.for "o" %o = 0 to 4 {
      // expected-error @below {{cannot factor the reductions of the loop "v": its domain may leave out all iterations, and the total would touch an element that they do not}}
      nest.for "v" %v = 0 to 4 {
        %a = nest.load %x[4 * %o + %v] : memref<?xf32>
        // expected-note @below {{the reduction is here}}
        nest.accumulate "s" add %a, %s[%i] where (%i + %o + %v < %n) : memref<?xf32>
      }
    }
  }
  func.return
}

// -----

func.func @masked_out(%x: memref<?xf32>, %zero: f32, %m: index, %s: memref<?xf32>) {
  nest.for "i" %i = 0 to %m {
    nest.for "o" %o = 0 to 4 {
      // expected-error @below {{cannot factor the reductions of the loop "v": its domain may leave out all iterations, and the total would touch an element that they do not}}
      nest.for "v" %v = 0 to 4 {
        %a = nest.load %x[4 * %o + %v] : memref<?xf32>
        %c = arith.cmpf ogt, %a, %zero : f32
        // expected-note @below {{the reduction is here}}
        nest.accumulate "s" add %a, %s[%i] mask %c : memref<?xf32>
      }
    }
  }
  func.return
}

// -----

func.func @several_ends(%n: index, %x: memref<?x17xf32>, %s: memref<f32>) {
  nest.for "o" %o = 0 to %n {
    // expected-error @below {{cannot factor the reductions of the loop "v": how often it runs is not known before the loop "o"}}
    nest.for "v" %v = 1 to min(17, %n) {
      %a = nest.load %x[%o, %v] : memref<?x17xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
  }
  func.return
}

// -----

// Where the outer loop starts is a max: which iteration is the first one is not known.
func.func @several(%x: memref<?xf32>, %n: index, %m: index, %s: memref<?xf32>) {
  nest.for "i" %i = 0 to %m {
    nest.for "o" %o = max(%n, %m) to 4 {
      // expected-error @below {{cannot factor the reductions of the loop "v": its domain may leave out all iterations, and the total would touch an element that they do not}}
      nest.for "v" %v = 0 to 4 {
        %a = nest.load %x[4 * %o + %v] : memref<?xf32>
        // expected-note @below {{the reduction is here}}
        nest.accumulate "s" add %a, %s[%i] where (%o + %v < %n) : memref<?xf32>
      }
    }
  }
  func.return
}

// -----

// A domain that depends on a value of the loop.
func.func @computed(%x: memref<?xf32>, %k: memref<?xindex>, %m: index, %s: memref<?xf32>) {
  nest.for "i" %i = 0 to %m {
    nest.for "o" %o = 0 to 4 {
      // expected-error @below {{cannot factor the reductions of the loop "v": its domain may leave out all iterations, and the total would touch an element that they do not}}
      nest.for "v" %v = 0 to 4 {
        %a = nest.load %x[4 * %o + %v] : memref<?xf32>
        %q = nest.load %k[%v] : memref<?xindex>
        // expected-note @below {{the reduction is here}}
        nest.accumulate "s" add %a, %s[%i] where (%q < 3) : memref<?xf32>
      }
    }
  }
  func.return
}

// -----

func.func @kernel(%n: index, %x: memref<8x?x?xf32>, %s: memref<8xf32>) {
  // expected-note @below {{the loop "b" is bound to block.x}}
  nest.for "b" %b = 0 to 8 bind "block.x" {
    nest.for "o" %o = 0 to %n {
      // expected-error @below {{how often it runs is not a constant, and a kernel allocates only what is}}
      nest.for "v" %v = 0 to %n {
        %a = nest.load %x[%b, %o, %v] : memref<8x?x?xf32>
        nest.accumulate "s" add %a, %s[%b] : memref<8xf32>
      }
    }
  }
  func.return
}

// -----

func.func @lanes(%x: memref<8x16xf32>, %y: memref<8xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "i" %i = 0 to 8 vectorized(8) {
    nest.for "o" %o = 0 to 4 {
      // expected-error @below {{cannot factor the loop "v": it is inside of the vectorized loop "i"}}
      nest.for "v" %v = 0 to 4 {
        %a = nest.load %x[%i, 4 * %o + %v] : memref<8x16xf32>
        nest.accumulate "y" add %a, %y[%i] : memref<8xf32>
      }
    }
  }
  func.return
}
