// What is no softmax of rows with a product of it, and what needs more of the scores than a block, is refused with the reason.
// RUN: opt-tool %s -p 'nest-online-softmax{rows=i product=i.1 factor=4}' --split-input-file --verify-diagnostics

// A sum that is divided by is one of exponentials of other scores.
func.func @scaled(%v: memref<10x3xf32>, %y: memref<5x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the exponentials are not of the scores whose maximum it is}}
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
      %b = arith.addf %a, %a : f32
      // expected-note @below {{here}}
      %d = arith.subf %b, %m : f32
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
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %l] : memref<10x3xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %l] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

// Another pass is no softmax: the sum is of the scores.
func.func @other(%v: memref<10x3xf32>, %y: memref<5x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: it does not reduce to a maximum, and then to the sum of what it stores}}
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
      // expected-note @below {{here}}
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %a, %sum[] : memref<f32>
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
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %l] : memref<10x3xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %l] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

// The exponentials are used once more.
func.func @again(%v: memref<10x3xf32>, %y: memref<5x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the scores are used elsewhere after it}}
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
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %l] : memref<10x3xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %l] : memref<5x3xf32>
      }
    }
  }
      // expected-note @below {{here}}
  %last = nest.load %t[0, 0] : memref<5x10xf32>
  nest.store "y" %last, %y[0, 0] : memref<5x3xf32>
  func.return
}

// -----

// What is made of the softmax is not a sum.
func.func @largest(%v: memref<10x3xf32>, %y: memref<5x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: what uses the softmax is not a sum in any order}}
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
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %l] : memref<10x3xf32>
        %q = arith.mulf %p, %b : f32
      // expected-note @below {{here}}
        nest.accumulate "y" maximum %q, %y[%i, %l] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

// The product is not linear in it.
func.func @square(%v: memref<10x3xf32>, %y: memref<5x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: what is added up is not the softmax times something}}
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
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %l] : memref<10x3xf32>
        %q = arith.mulf %p, %p : f32
      // expected-note @below {{here}}
        nest.accumulate "y" add %q, %y[%i, %l] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

// A part of each row only.
func.func @part(%v: memref<10x3xf32>, %y: memref<5x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the product reads other rows, or parts of them}}
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
      nest.for "j.3" %j = 0 to 9 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %l] : memref<10x3xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %l] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

// The other factor is filled between the two.
func.func @between(%v: memref<10x3xf32>, %y: memref<5x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: what is between the two writes what the product reads}}
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
  nest.store "v" %zero, %v[0, 0] : memref<10x3xf32>
  nest.for "i.1" %i = 0 to 5 {
    nest.for "l" %l = 0 to 3 {
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %l] : memref<10x3xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %l] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

// The maximum starts at 0.
func.func @start(%v: memref<10x3xf32>, %y: memref<5x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the maximum does not start at -inf, or the sum not at 0}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
      // expected-note @below {{here}}
    nest.store "m" %zero, %maximum[] : memref<f32>
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
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %l] : memref<10x3xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %l] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

// Rows may have no scores: the sum of none of them is 0, and not 0 / 0.
func.func @empty(%n: index, %v: memref<?x3xf32>, %y: memref<5x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t"(%n) : memref<5x?xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: there may be no score in a row, of which the product is 0}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to %n {
      %a = nest.load %t[%i, %j] : memref<5x?xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to %n {
      %a = nest.load %t[%i, %j] : memref<5x?xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x?xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to %n {
      %e = nest.load %t[%i, %j] : memref<5x?xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x?xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "l" %l = 0 to 3 {
      nest.for "j.3" %j = 0 to %n {
        %p = nest.load %t[%i, %j] : memref<5x?xf32>
        %b = nest.load %v[%j, %l] : memref<?x3xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %l] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

// Blocks of a loop that is marked.
func.func @marked() {
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a loop is marked already}}
  nest.for "i" %i = 0 to 5 {
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to 10 parallel {
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}

// -----

// One loop in each row: there is no maximum.
func.func @pass() {
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: its rows are not three loops: a maximum, exponentials with their sum, a division}}
  // expected-note @below {{here}}
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to 10 {
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}

// -----

// The product is in another loop.
func.func @apart() {
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: they are not in one block}}
  nest.for "i" %i = 0 to 5 {
  }
  nest.for "k" %k = 0 to 2 {
    // expected-note @below {{here}}
    nest.for "i.1" %i = 0 to 5 {
    }
  }
  func.return
}

// -----

// Rows from the second.
func.func @from_one() {
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a loop does not run from 0 in steps of 1 to one bound}}
  // expected-note @below {{here}}
  nest.for "i" %i = 1 to 5 {
    nest.for "j" %j = 0 to 10 {
    }
    nest.for "j.1" %j = 0 to 10 {
    }
    nest.for "j.2" %j = 0 to 10 {
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}

// -----

// The last element is not divided.
func.func @bounds() {
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: its three loops have different bounds}}
  nest.for "i" %i = 0 to 5 {
    nest.for "j" %j = 0 to 10 {
    }
    nest.for "j.1" %j = 0 to 10 {
    }
    // expected-note @below {{here}}
    nest.for "j.2" %j = 0 to 9 {
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}
