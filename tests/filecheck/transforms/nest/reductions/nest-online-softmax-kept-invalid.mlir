// What a row may keep.
// RUN: opt-tool %s -p 'nest-online-softmax{rows=i product=i.1 factor=4 kept=true}' --split-input-file --verify-diagnostics

func.func @nothing(%x: memref<5x10xf32>, %v: memref<10x3xf32>, %y: memref<5x3xf32>, %l: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  nest.for "a" %i = 0 to 5 {
    nest.for "b" %j = 0 to 10 {
      %e = nest.load %x[%i, %j] : memref<5x10xf32>
      nest.store "t" %e, %t[%i, %j] : memref<5x10xf32>
    }
  }
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a row keeps nothing of its maximum and sum}}
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
    nest.for "l" %c = 0 to 3 {
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %c] : memref<10x3xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %c] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

func.func @masked(%x: memref<5x10xf32>, %v: memref<10x3xf32>, %y: memref<5x3xf32>, %l: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  nest.for "a" %i = 0 to 5 {
    nest.for "b" %j = 0 to 10 {
      %e = nest.load %x[%i, %j] : memref<5x10xf32>
      nest.store "t" %e, %t[%i, %j] : memref<5x10xf32>
    }
  }
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a row stores something else}}
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
    %g = math.log %s : f32
    %h = arith.addf %m, %g : f32
    // expected-note @below {{here}}
    nest.store "l" %h, %l[%i] where (%i >= 1) : memref<5xf32>
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "l" %c = 0 to 3 {
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %c] : memref<10x3xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %c] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

func.func @other(%x: memref<5x10xf32>, %v: memref<10x3xf32>, %y: memref<5x3xf32>, %l: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  nest.for "a" %i = 0 to 5 {
    nest.for "b" %j = 0 to 10 {
      %e = nest.load %x[%i, %j] : memref<5x10xf32>
      nest.store "t" %e, %t[%i, %j] : memref<5x10xf32>
    }
  }
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: a row stores what is computed of something else than its maximum and sum}}
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
    // expected-note @below {{here}}
    %g = nest.load %v[%i, 0] : memref<10x3xf32>
    nest.store "l" %g, %l[%i] : memref<5xf32>
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "l" %c = 0 to 3 {
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        %b = nest.load %v[%j, %c] : memref<10x3xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %c] : memref<5x3xf32>
      }
    }
  }
  func.return
}

// -----

func.func @used(%x: memref<5x10xf32>, %v: memref<10x3xf32>, %y: memref<5x3xf32>, %l: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xff800000 : f32
  %t = nest.alloc "t" : memref<5x10xf32>
  nest.for "a" %i = 0 to 5 {
    nest.for "b" %j = 0 to 10 {
      %e = nest.load %x[%i, %j] : memref<5x10xf32>
      nest.store "t" %e, %t[%i, %j] : memref<5x10xf32>
    }
  }
  // expected-error @below {{cannot compute the softmax "i" with its product "i.1" block by block: the rows or the product use what a row keeps}}
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
    %g = math.log %s : f32
    %h = arith.addf %m, %g : f32
    nest.store "l" %h, %l[%i] : memref<5xf32>
  }
  nest.for "i.1" %i = 0 to 5 {
    nest.for "l" %c = 0 to 3 {
      nest.for "j.3" %j = 0 to 10 {
        %p = nest.load %t[%i, %j] : memref<5x10xf32>
        // expected-note @below {{here}}
        %b = nest.load %l[%i] : memref<5xf32>
        %q = arith.mulf %p, %b : f32
        nest.accumulate "y" add %q, %y[%i, %c] : memref<5x3xf32>
      }
    }
  }
  func.return
}
