// What is no sum of products in a nest of constant length, and what could not be copied first, is refused with the reason.
// RUN: opt-tool %s -p 'nest-stage-factors{loop=o}' --split-input-file --verify-diagnostics

func.func @symbolic(%n: index, %x: memref<4xf32>, %y: memref<8xf32>, %c: memref<8xf32>) {
  // expected-error @below {{cannot stage the factors of the sum in the loop "o": it does not hold one perfect nest of unmarked loops from 0 to a constant, and nothing else}}
  nest.for "o" %o = 0 to 4 {
    nest.for "j" %j = 0 to %n {
      %a = nest.load %x[%o] : memref<4xf32>
      %b = nest.load %y[%j] : memref<8xf32>
      %p = arith.mulf %a, %b : f32
      nest.accumulate "c" add %p, %c[%j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @two(%x: memref<4xf32>, %y: memref<8xf32>, %c: memref<8xf32>) {
  // expected-error @below {{there is more than one reduction, in any order}}
  nest.for "o" %o = 0 to 4 {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%o] : memref<4xf32>
      // expected-note @below {{this is something else}}
      nest.store "y" %a, %y[%j] : memref<8xf32>
      nest.accumulate "c" add %a, %c[%j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @in_order(%x: memref<4xf32>, %y: memref<8xf32>, %c: memref<8xf32>) {
  // expected-error @below {{what is combined has a condition, an order, or a combiner without a name}}
  nest.for "o" %o = 0 to 4 {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%o] : memref<4xf32>
      %b = nest.load %y[%j] : memref<8xf32>
      %p = arith.mulf %a, %b : f32
      // expected-note @below {{here}}
      nest.accumulate "c" add %p, %c[%j] order(sequential) : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @nothing(%x: memref<4xf32>) {
  // expected-error @below {{there is no sum in it}}
  nest.for "o" %o = 0 to 4 {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%o] : memref<4xf32>
    }
  }
  func.return
}

// -----

func.func @no_product(%x: memref<4xf32>, %c: memref<8xf32>) {
  // expected-error @below {{what is combined is computed of no two factors}}
  nest.for "o" %o = 0 to 4 {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%o] : memref<4xf32>
      // expected-note @below {{here}}
      nest.accumulate "c" add %a, %c[%j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @same_everywhere(%x: memref<4xf32>, %y: memref<8xf32>, %c: memref<8xf32>) {
  // expected-error @below {{a term has 1 factors that change with some of the loops, not two}}
  nest.for "o" %o = 0 to 4 {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%o] : memref<4xf32>
      %b = nest.load %y[%j] : memref<8xf32>
      // expected-note @below {{here}}
      %p = arith.mulf %a, %b : f32
      nest.accumulate "c" add %p, %c[%j] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @in_place(%x: memref<4xf32>, %c: memref<8xf32>) {
  // expected-error @below {{the sum may write what a factor is loaded from}}
  nest.for "o" %o = 0 to 4 {
    nest.for "i" %i = 0 to 4 {
      nest.for "j" %j = 0 to 8 {
        %a = nest.load %x[%i] : memref<4xf32>
        // expected-note @below {{here}}
        %b = nest.load %c[%j] : memref<8xf32>
        %p = arith.mulf %a, %b : f32
        nest.accumulate "c" add %p, %c[%i + %j] where (%i + %j < 8) : memref<8xf32>
      }
    }
  }
  func.return
}

// -----

func.func @divided(%n: i32, %x: memref<4xi32>, %y: memref<8xi32>, %c: memref<8xi32>) {
  // expected-error @below {{a division may be undefined where the sum has no term}}
  nest.for "o" %o = 0 to 4 {
    nest.for "i" %i = 0 to 4 {
      nest.for "j" %j = 0 to 8 {
        %a = nest.load %x[%i] : memref<4xi32>
        // expected-note @below {{here}}
        %d = arith.divsi %n, %a : i32
        %b = nest.load %y[%j] : memref<8xi32>
        %p = arith.muli %d, %b : i32
        nest.accumulate "c" add %p, %c[%j] where (%i <= %j) : memref<8xi32>
      }
    }
  }
  func.return
}

// -----

// Element 3 * %i of %x is in the buffer only where %j says so.
func.func @outside(%x: memref<8xf32>, %y: memref<8xf32>, %c: memref<8xf32>) {
  // expected-error @below {{an element that would be copied is not proved to be in its buffer}}
  nest.for "o" %o = 0 to 4 {
    nest.for "i" %i = 0 to 4 {
      nest.for "j" %j = 0 to 8 {
        // expected-note @below {{here}}
        %a = nest.load %x[3 * %i] : memref<8xf32>
        %b = nest.load %y[%j] : memref<8xf32>
        %p = arith.mulf %a, %b : f32
        nest.accumulate "c" add %p, %c[%j] where (%j < 8 - 3 * %i) : memref<8xf32>
      }
    }
  }
  func.return
}

// -----

func.func @one_element(%x: memref<4x8xf32>, %y: memref<8xf32>, %c: memref<8xf32>) {
  // expected-error @below {{an element changes with all of the loops that a term changes with}}
  nest.for "o" %o = 0 to 4 {
    nest.for "i" %i = 0 to 4 {
      nest.for "j" %j = 0 to 8 {
        // expected-note @below {{here}}
        %a = nest.load %x[%i, %j] : memref<4x8xf32>
        %b = nest.load %y[%j] : memref<8xf32>
        %p = arith.mulf %a, %b : f32
        nest.accumulate "c" add %p, %c[%j] : memref<8xf32>
      }
    }
  }
  func.return
}

// -----

func.func @three(%x: memref<4x8xf32>, %y: memref<8x8xf32>, %z: memref<4x8xf32>, %c: memref<4x8xf32>) {
  // expected-error @below {{a term has 3 factors that change with some of the loops, not two}}
  nest.for "o" %o = 0 to 4 {
    nest.for "i" %i = 0 to 4 {
      nest.for "j" %j = 0 to 8 {
        nest.for "k" %k = 0 to 8 {
          %a = nest.load %x[%i, %k] : memref<4x8xf32>
          %b = nest.load %y[%j, %k] : memref<8x8xf32>
          %d = arith.subf %a, %b : f32
          %e = nest.load %z[%i, %k] : memref<4x8xf32>
          // expected-note @below {{here}}
          %p = arith.mulf %d, %e : f32
          nest.accumulate "c" add %p, %c[%i, %j] : memref<4x8xf32>
        }
      }
    }
  }
  func.return
}

// -----

func.func @divided_terms(%x: memref<4x8xi32>, %y: memref<8x8xi32>, %c: memref<4x8xi32>) {
  // expected-error @below {{a division may be undefined where the sum has no term}}
  nest.for "o" %o = 0 to 4 {
    nest.for "i" %i = 0 to 4 {
      nest.for "j" %j = 0 to 8 {
        nest.for "k" %k = 0 to 8 {
          %a = nest.load %x[%i, %k] : memref<4x8xi32>
          %b = nest.load %y[%j, %k] : memref<8x8xi32>
          // expected-note @below {{here}}
          %d = arith.divsi %a, %b : i32
          nest.accumulate "c" add %d, %c[%i, %j] : memref<4x8xi32>
        }
      }
    }
  }
  func.return
}

// -----

// Of the outer loop, too: the other factor changes with that.
func.func @whole_factor(%x: memref<4x8x8xf32>, %y: memref<4x8xf32>, %c: memref<4x8xf32>) {
  // expected-error @below {{a factor changes with all of the loops}}
  nest.for "o" %o = 0 to 4 {
    nest.for "i" %i = 0 to 4 {
      nest.for "j" %j = 0 to 8 {
        nest.for "k" %k = 0 to 8 {
          %a = nest.load %x[%i, %j, %k] : memref<4x8x8xf32>
          %b = nest.load %y[%o, %k] : memref<4x8xf32>
          // expected-note @below {{here}}
          %p = arith.mulf %a, %b : f32
          nest.accumulate "c" add %p, %c[%i, %j] : memref<4x8xf32>
        }
      }
    }
  }
  func.return
}
