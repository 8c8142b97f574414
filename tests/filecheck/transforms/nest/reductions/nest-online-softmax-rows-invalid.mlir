// Three loops along the rows that are no softmax, or one whose parts are used otherwise.
// RUN: opt-tool %s -p 'nest-online-softmax{rows=i product=i.1 factor=4}' --split-input-file --verify-diagnostics

// The maxima of all rows are in one buffer.
func.func @maxima(%x: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a loop does not have exactly one reduction, to one variable}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %x[%i] : memref<5xf32>
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
  }
  func.return
}

// -----

// The maximum of a part of the row.
func.func @fewer() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the reduction has a domain, or an order}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      // expected-note @below {{here}}
      nest.accumulate "m" maximum %a, %maximum[] where (%j < 9) : memref<f32>
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
  }
  func.return
}

// -----

// The maximum is in a variable of the caller.
func.func @variable(%maximum: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the reduction is not to a variable of the row}}
  nest.for "i" %i = 0 to 5 {
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      // expected-note @below {{here}}
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
  }
  func.return
}

// -----

// The caller sees the exponentials.
func.func @argument(%t: memref<5x10xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: its second loop stores no exponentials to a buffer of the function}}
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
    // expected-note @below {{here}}
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
  }
  func.return
}

// -----

// An exponential of each row is not stored.
func.func @some() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the exponentials have a domain, or are not floating-point numbers}}
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
      nest.store "e" %e, %t[%i, %j] where (%j < 9) : memref<5x10xf32>
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
  }
  func.return
}

// -----

// A power of 2, not of e.
func.func @power() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: what is stored is not the exponential of a difference}}
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
      %e = math.exp2 %d : f32
      // expected-note @below {{here}}
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
  }
  func.return
}

// -----

// The exponentials are of scores less a constant.
func.func @offset() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: what is subtracted is not the maximum}}
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
      // expected-note @below {{here}}
      %d = arith.subf %a, %zero : f32
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
  }
  func.return
}

// -----

// The exponential is stored in another buffer, too.
func.func @twice(%x: memref<5x10xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the exponential is used in another way}}
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
      // expected-note @below {{here}}
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.store "e" %e, %x[%i, %j] : memref<5x10xf32>
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
  }
  func.return
}

// -----

// Every row has its scores in the same place.
func.func @one_row() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the scores do not have one element for each iteration}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[0, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[0, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      // expected-note @below {{here}}
      nest.store "e" %e, %t[0, %j] : memref<5x10xf32>
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
  }
  func.return
}

// -----

// The last loop multiplies.
func.func @times() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: its last loop does not divide the exponentials by their sum}}
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
    // expected-note @below {{here}}
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.mulf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}

// -----

// The last loop leaves an element as it is.
func.func @all_but_one() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: its last loop does not divide all of the exponentials}}
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
      // expected-note @below {{here}}
      nest.store "p" %p, %t[%i, %j] where (%j < 9) : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}

// -----

// The quotients are stored in another buffer.
func.func @out_of_place(%x: memref<5x10xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: its last loop does not divide the exponentials in place}}
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
      // expected-note @below {{here}}
      nest.store "p" %p, %x[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}

// -----

// The quotients are stored in reverse.
func.func @backwards() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: its last loop divides other elements}}
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
      // expected-note @below {{here}}
      nest.store "p" %p, %t[%i, 9 - %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}

// -----

// The exponentials are divided by the maximum.
func.func @divisor() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: what it divides by is not the sum of the exponentials}}
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
      // expected-note @below {{here}}
      %p = arith.divf %e, %m : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}

// -----

// The last loop stores the sum, too.
func.func @besides(%x: memref<10xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: its last loop does something else}}
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
    // expected-note @below {{here}}
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "x" %s, %x[%j] : memref<10xf32>
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}

// -----

// A row stores 0 in another buffer.
func.func @row_store(%x: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a row stores something else}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    // expected-note @below {{here}}
    nest.store "x" %zero, %x[%i] : memref<5xf32>
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
  }
  func.return
}

// -----

// A row has a buffer of its own.
func.func @row_buffer() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a row makes another buffer}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    // expected-note @below {{here}}
    %x = nest.alloc "x" : memref<f32>
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
  }
  func.return
}

// -----

// Something is summed up over the rows.
func.func @row_sum(%x: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a row does something else}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    // expected-note @below {{here}}
    nest.accumulate "x" add %zero, %x[] : memref<f32>
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
  }
  func.return
}

// -----

// The sum is set to 0 after it is found.
func.func @set_late() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a variable is not set once, before its loop}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    // expected-note @below {{here}}
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      nest.store "e" %e, %t[%i, %j] : memref<5x10xf32>
      nest.accumulate "s" add %e, %sum[] : memref<f32>
    }
    %s = nest.load %sum[] : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}

// -----

// The maximum is loaded once more.
func.func @loaded_twice() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the maximum or the sum is used elsewhere}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    // expected-note @below {{here}}
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
    %n = nest.load %maximum[] : memref<f32>
    nest.for "j.2" %j = 0 to 10 {
      %e = nest.load %t[%i, %j] : memref<5x10xf32>
      %p = arith.divf %e, %s : f32
      nest.store "p" %p, %t[%i, %j] : memref<5x10xf32>
    }
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}

// -----

// The loop that finds the maximum copies the scores.
func.func @copied(%x: memref<5x10xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a loop stores something else}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to 10 {
      %a = nest.load %t[%i, %j] : memref<5x10xf32>
      nest.store "x" %a, %x[%i, %j] : memref<5x10xf32>
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
  }
  func.return
}

// -----

// An index is checked in the loop that finds the maximum.
func.func @checked() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a loop does something else}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      // expected-note @below {{here}}
      %k = nest.index %j of 10 axis 0 of "x"
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
  }
  func.return
}

// -----

// The scores are read in reverse, where exponentials of others are by then.
func.func @neighbours() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a score depends on other ones}}
  nest.for "i" %i = 0 to 5 {
    %maximum = nest.alloc "maximum" : memref<f32>
    nest.store "m" %lowest, %maximum[] : memref<f32>
    nest.for "j" %j = 0 to 10 {
      // expected-note @below {{here}}
      %a = nest.load %t[%i, 9 - %j] : memref<5x10xf32>
      nest.accumulate "m" maximum %a, %maximum[] : memref<f32>
    }
    %sum = nest.alloc "sum" : memref<f32>
    nest.store "s" %zero, %sum[] : memref<f32>
    %m = nest.load %maximum[] : memref<f32>
    nest.for "j.1" %j = 0 to 10 {
      %a = nest.load %t[%i, 9 - %j] : memref<5x10xf32>
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
  }
  func.return
}
