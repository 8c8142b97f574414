// Nests after a softmax that are no product of it, or cannot be done where its rows are.
// RUN: opt-tool %s -p 'nest-online-softmax{rows=i product=i.1 factor=4}' --split-input-file --verify-diagnostics

// The result is set to 0 in the product.
func.func @fill(%v: memref<10xf32>, %y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the product is not a sum in a perfect nest}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  // expected-note @below {{here}}
  nest.for "i.1" %i = 0 to 5 {
    nest.store "y" %zero, %y[%i] : memref<5xf32>
    nest.for "j.3" %j = 0 to 10 {
      %p = nest.load %t[%i, %j] : memref<5x10xf32>
      %b = nest.load %v[%j] : memref<10xf32>
      %q = arith.mulf %p, %b : f32
      nest.accumulate "y" add %q, %y[%i] : memref<5xf32>
    }
  }
  func.return
}

// -----

// The product reads the diagonal of the scores.
func.func @diagonal(%v: memref<10xf32>, %y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the product reads the scores with other indices than the rows write them}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "j.3" %j = 0 to 10 {
      // expected-note @below {{here}}
      %p = nest.load %t[%i, %i] : memref<5x10xf32>
      %b = nest.load %v[%j] : memref<10xf32>
      %q = arith.mulf %p, %b : f32
      nest.accumulate "y" add %q, %y[%i] : memref<5xf32>
    }
  }
  func.return
}

// -----

// The product starts at the second row.
func.func @from_one(%v: memref<10xf32>, %y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a loop does not run from 0 in steps of 1}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  // expected-note @below {{here}}
  nest.for "i.1" %i = 1 to 5 {
    nest.for "j.3" %j = 0 to 10 {
      %p = nest.load %t[%i, %j] : memref<5x10xf32>
      %b = nest.load %v[%j] : memref<10xf32>
      %q = arith.mulf %p, %b : f32
      nest.accumulate "y" add %q, %y[%i] : memref<5xf32>
    }
  }
  func.return
}

// -----

// The elements of the result are a triangle.
func.func @triangle(%v: memref<10xf32>, %y: memref<5x3x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a bound depends on another loop}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "l" %l = 0 to 3 {
      // expected-note @below {{here}}
      nest.for "k" %k = 0 to %l + 1 {
        nest.for "j.3" %j = 0 to 10 {
          %p = nest.load %t[%i, %j] : memref<5x10xf32>
          %b = nest.load %v[%j] : memref<10xf32>
          %q = arith.mulf %p, %b : f32
          nest.accumulate "y" add %q, %y[%i, %l, %k] : memref<5x3x3xf32>
        }
      }
    }
  }
  func.return
}

// -----

// The product adds up all rows.
func.func @total(%v: memref<10xf32>, %y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the result does not have one element for each iteration of the loops over rows and columns}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "j.3" %j = 0 to 10 {
      %p = nest.load %t[%i, %j] : memref<5x10xf32>
      %b = nest.load %v[%j] : memref<10xf32>
      %q = arith.mulf %p, %b : f32
      // expected-note @below {{here}}
      nest.accumulate "y" add %q, %y[0] : memref<5xf32>
    }
  }
  func.return
}

// -----

// The other factor is in the result.
func.func @recurrence(%y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the product may read what it adds to}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "j.3" %j = 0 to 10 {
      %p = nest.load %t[%i, %j] : memref<5x10xf32>
      // expected-note @below {{here}}
      %b = nest.load %y[%i] : memref<5xf32>
      %q = arith.mulf %p, %b : f32
      nest.accumulate "y" add %q, %y[%i] : memref<5xf32>
    }
  }
  func.return
}

// -----

// An index is checked in the product.
func.func @checked(%v: memref<10xf32>, %y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the product does something else}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "j.3" %j = 0 to 10 {
      %p = nest.load %t[%i, %j] : memref<5x10xf32>
      // expected-note @below {{here}}
      %k = nest.index %j of 10 axis 0 of "v"
      %b = nest.load %v[%j] : memref<10xf32>
      %q = arith.mulf %p, %b : f32
      nest.accumulate "y" add %q, %y[%i] : memref<5xf32>
    }
  }
  func.return
}

// -----

// The other factor is a view of the softmax.
func.func @view(%y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the buffer of the scores is seen through a view}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  // expected-note @below {{here}}
  %w = memref.collapse_shape %t [[0, 1]] : memref<5x10xf32> into memref<50xf32>
  nest.for "i.1" %i = 0 to 5 {
    nest.for "j.3" %j = 0 to 10 {
      %p = nest.load %t[%i, %j] : memref<5x10xf32>
      %b = nest.load %w[10 * %i + %j] : memref<50xf32>
      %q = arith.mulf %p, %b : f32
      nest.accumulate "y" add %q, %y[%i] : memref<5xf32>
    }
  }
  func.return
}

// -----

// A function that may write anything is called between the two.
func.func private @other()

func.func @unknown(%v: memref<10xf32>, %y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: what is between the two may touch any memory}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  // expected-note @below {{here}}
  func.call @other() : () -> ()
  nest.for "i.1" %i = 0 to 5 {
    nest.for "j.3" %j = 0 to 10 {
      %p = nest.load %t[%i, %j] : memref<5x10xf32>
      %b = nest.load %v[%j] : memref<10xf32>
      %q = arith.mulf %p, %b : f32
      nest.accumulate "y" add %q, %y[%i] : memref<5xf32>
    }
  }
  func.return
}

// -----

// The exponentials are in a buffer from before the loop that the two are in.
func.func @outside(%v: memref<10xf32>, %y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  // expected-note @below {{here}}
  %t = nest.alloc "t" : memref<5x10xf32>
  nest.for "k" %k = 0 to 2 {
    // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the buffer of the scores is used after this block}}
    nest.for "i" %i = 0 to 5 {
      %maximum = nest.alloc "maximum" : memref<f32>
      nest.store "m" %lowest, %maximum[] : memref<f32>
      nest.for "j" %j = 0 to 10 {
        %a = nest.load %t[%i, %j] : memref<5x10xf32>
        nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
      }
      %sum = nest.alloc "sum" : memref<f32>
      nest.store "s" %zero, %sum[] : memref<f32>
      %m = nest.load %maximum[] : memref<f32>
      nest.for "j.1" %j = 0 to 10 {
        %a = nest.load %t[%i, %j] : memref<5x10xf32>
        %d = arith.subf %a, %m : f32
        %e = math.exp %d : f32
        nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
        nest.accumulate "s" add %e, %sum[] : memref<f32>
      }
      %s = nest.load %sum[] : memref<f32>
      nest.for "j.2" %j = 0 to 10 {
        %e = nest.load %t[%i, %j] : memref<5x10xf32>
        %p = arith.divf %e, %s : f32
        nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
      }
    }
    nest.for "i.1" %i = 0 to 5 {
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j] : memref<10xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i] : memref<5xf32>
      }
    }
  }
  func.return
}

// -----

// The product is of what was there before the softmax.
func.func @before(%v: memref<10xf32>, %y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-note @below {{here}}
  nest.for "i.1" %i = 0 to 5 {
    nest.for "j.3" %j = 0 to 10 {
      %p = nest.load %t[%i, %j] : memref<5x10xf32>
      %b = nest.load %v[%j] : memref<10xf32>
      %q = arith.mulf %p, %b : f32
      nest.accumulate "y" add %q, %y[%i] : memref<5xf32>
    }
  }
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the product comes first}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  func.return
}

// -----

// Sums of exponentials in float32, and of products in float16: one factor cannot correct both.
func.func @narrow(%x: memref<5x10x2xf16>, %v: memref<10x3xf16>, %y: memref<5x3xf16>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xfc00 : f16
  %t = nest.alloc "t" : memref<5x10xf32>
  nest.for "a" %i = 0 to 5 {
    nest.for "b" %j = 0 to 10 {
      nest.store "t" %zero, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "a.1" %i = 0 to 5 {
    nest.for "b.1" %j = 0 to 10 {
      nest.for "d" %d = 0 to 2 {
        %e = nest.load %x[%i, %j, %d] : memref<5x10x2xf16>
        %f = arith.extf %e : f16 to f32
        nest.accumulate "t" add %f, %t[%i, %j] : memref<5x10xf32>
      }
    }
  }
  %w = nest.alloc "w" : memref<5x10xf16>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the exponentials are added up in another type than the product}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f16>
    nest.store "m" %lowest, %maximum[] : memref<f16>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %n = arith.truncf %a : f32 to f16
      nest.accumulate "m" maximum %n, %maximum[] : memref<f16>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f16>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %n = arith.truncf %a : f32 to f16
      %d = arith.subf %n, %m : f16
      %e = math.exp %d : f16
      nest.store "e" %e, %w[%i, %j] : memref<5x10xf16>
      %f = arith.extf %e : f16 to f32
      // expected-note @below {{here}}
      nest.accumulate "s" add %f, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    %r = arith.truncf %s : f32 to f16
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %w[%i, %j] : memref<5x10xf16>
      %p = arith.divf %e, %r : f16
      nest.store "p" %p, %w[%i, %j] : memref<5x10xf16>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "l" %l = 0 to 3 {
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %w[%i, %j] : memref<5x10xf16>
        %b = nest.load %v[%j, %l] : memref<10x3xf16>
        %q = arith.mulf %p, %b : f16
        nest.accumulate "y" add %q, %y[%i, %l] : memref<5x3xf16>
      }
    }
  }
  func.return
}
