// Reductions and sums relative to them that cannot be done a part at a time, and why.
// RUN: opt-tool %s -p 'nest-block-relative{bases=i sums=i.1 parts=4}' --split-input-file --verify-diagnostics

func.func @unknown(%n: index, %x: memref<?xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{cannot do parts of "i" with "i.1", relative to it: they are not known to run through the same iterations, a constant number of them}}
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  // expected-note @below {{here}}
  nest.for "i.1" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @apart(%x: memref<12xf32>, %mean: f32, %s: memref<3xf32>, %q: memref<3xf32>) {
  // expected-error @below {{the sums do not follow in the same body}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "s" add %a, %s[0] : memref<3xf32>
  }
  nest.for "k" %k = 0 to 3 {
    // expected-note @below {{here}}
    nest.for "i.1" %i = 0 to 12 {
      %a = nest.load %x[%i] : memref<12xf32>
      %d = arith.subf %a, %mean : f32
      %e = arith.mulf %d, %d : f32
      nest.accumulate "q" add %e, %q[%k] : memref<3xf32>
    }
  }
  func.return
}

// -----

// Three parts have two terms each, and nothing is left for a fourth one.
func.func @empty(%x: memref<10xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{of 4 parts of 6 iterations not each has one}}
  // expected-note @below {{here}}
  nest.for "i" %i = 0 to 6 {
    %a = nest.load %x[%i] : memref<10xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 6 {
    %a = nest.load %x[%i] : memref<10xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @product(%x: memref<12xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what is added up is no power of the difference, and no exponential}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    // expected-note @below {{here}}
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %a : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @others(%x: memref<13xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what is added up is not of differences from the terms of the first reduction}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<13xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i + 1] : memref<13xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %d : f32
    // expected-note @below {{here}}
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @unlike(%x: memref<12x3xf32>, %mean: f32, %s: memref<3xf32>, %q: memref<f32>) {
  // expected-error @below {{the two reductions go to elements that are not known to correspond}}
  nest.for "i" %i = 0 to 12 {
    nest.for "j" %j = 0 to 3 {
      %a = nest.load %x[%i, %j] : memref<12x3xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<3xf32>
    }
  }
  nest.for "i.1" %i = 0 to 12 {
    nest.for "j.1" %j = 0 to 3 {
      %a = nest.load %x[%i, %j] : memref<12x3xf32>
      %d = arith.subf %a, %mean : f32
      %e = arith.mulf %d, %d : f32
      // expected-note @below {{here}}
      nest.accumulate "q" add %e, %q[] : memref<f32>
    }
  }
  func.return
}

// -----

// The last column has no terms, and no mean.
func.func @fewer(%x: memref<12x3xf32>, %mean: f32, %s: memref<4xf32>, %q: memref<4xf32>) {
  // expected-error @below {{an index of a reduction is not that of a loop over all of its elements}}
  nest.for "i" %i = 0 to 12 {
    nest.for "j" %j = 0 to 3 {
      %a = nest.load %x[%i, %j] : memref<12x3xf32>
      // expected-note @below {{here}}
      nest.accumulate "s" add %a, %s[%j] : memref<4xf32>
    }
  }
  nest.for "i.1" %i = 0 to 12 {
    nest.for "j.1" %j = 0 to 3 {
      %a = nest.load %x[%i, %j] : memref<12x3xf32>
      %d = arith.subf %a, %mean : f32
      %e = arith.mulf %d, %d : f32
      nest.accumulate "q" add %e, %q[%j] : memref<4xf32>
    }
  }
  func.return
}

// -----

func.func @changing(%x: memref<12xf32>, %y: memref<12xf32>, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what is subtracted is not the same for all terms of an element}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    // expected-note @below {{here}}
    %b = nest.load %y[%i] : memref<12xf32>
    %d = arith.subf %a, %b : f32
    %e = arith.mulf %d, %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @written(%x: memref<12xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what they read may be written from the first nest on}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  // expected-note @below {{here}}
  nest.store "x" %mean, %x[0] : memref<12xf32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

// The terms themselves are replaced: parts of the sum would have to be taken before.
func.func @in_place(%x: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what they read may be written from the first nest on}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %maximum = nest.load %m[] : memref<f32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %maximum : f32
    %e = math.exp %d : f32
    // expected-note @below {{here}}
    nest.store "e" %e, %x[%i] : memref<12xf32>
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @stored(%x: memref<12xf32>, %y: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{the first nest stores something}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    // expected-note @below {{here}}
    nest.store "y" %a, %y[%i] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %maximum = nest.load %m[] : memref<f32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %maximum : f32
    %e = math.exp %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @two(%x: memref<12xf32>, %y: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{a nest does something else than one reduction}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %maximum = nest.load %m[] : memref<f32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %maximum : f32
    %e = math.exp %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
    // expected-note @below {{here}}
    nest.accumulate "q" add %d, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @masked(%x: memref<12xf32>, %y: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{a reduction has a domain}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    // expected-note @below {{here}}
    nest.accumulate "m" maximum %a, %m[] where (%i > 2) : memref<f32>
  }
  %maximum = nest.load %m[] : memref<f32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %maximum : f32
    %e = math.exp %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @short(%x: memref<12xf16>, %m: memref<f16>, %q: memref<f16>) {
  // expected-error @below {{what follows is not a sum of f32 or f64 numbers}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf16>
    nest.accumulate "m" maximum %a, %m[] : memref<f16>
  }
  %maximum = nest.load %m[] : memref<f16>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf16>
    %d = arith.subf %a, %maximum : f16
    %e = math.exp %d : f16
    // expected-note @below {{here}}
    nest.accumulate "q" add %e, %q[] : memref<f16>
  }
  func.return
}

// -----

// Differences from a maximum cancel: what is squared may be small although the part's own maximum is far from it.
func.func @largest(%x: memref<12xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{differences from a maximum or minimum cancel where they are shifted}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "s" maximum %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %d : f32
    // expected-note @below {{here}}
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

// Exponentials of differences from a mean of a part may overflow where those from the program's do not.
func.func @around_a_mean(%x: memref<12xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{the exponentials are not bounded by what the first nest reduces to}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %mean : f32
    %e = math.exp %d : f32
    // expected-note @below {{here}}
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @above_a_minimum(%x: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{the exponentials are not bounded by what the first nest reduces to}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "m" minimum %a, %m[] : memref<f32>
  }
  %least = nest.load %m[] : memref<f32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %least : f32
    %e = math.exp %d : f32
    // expected-note @below {{here}}
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @more_than_the_difference(%x: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  %one = arith.constant 1.0 : f32
  // expected-error @below {{the exponential is not of a multiple of the difference}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %largest = nest.load %m[] : memref<f32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %largest : f32
    %f = arith.addf %d, %one : f32
    // expected-note @below {{here}}
    %e = math.exp %f : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

// (d - 1)^2 may be small where d^2 and 1 are not.
func.func @several_powers(%x: memref<12xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  %one = arith.constant 1.0 : f32
  // expected-error @below {{what is added up has several powers of the difference, which may cancel}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %mean : f32
    %f = arith.subf %d, %one : f32
    %e = arith.mulf %f, %f : f32
    // expected-note @below {{here}}
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @ninth_power(%x: memref<12xf64>, %mean: f64, %s: memref<f64>, %q: memref<f64>) {
  // expected-error @below {{what is added up has a power above 8}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf64>
    nest.accumulate "s" add %a, %s[] : memref<f64>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf64>
    %d = arith.subf %a, %mean : f64
    %e = arith.mulf %d, %d : f64
    %f = arith.mulf %e, %e : f64
    %g = arith.mulf %f, %f : f64
    // expected-note @below {{here}}
    %h = arith.mulf %g, %d : f64
    nest.accumulate "q" add %h, %q[] : memref<f64>
  }
  func.return
}

// -----

func.func @nothing_left(%x: memref<12xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what is added up is the same for all elements}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.subf %d, %d : f32
    // expected-note @below {{here}}
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @wider(%x: memref<12xf32>, %mean: f32, %s: memref<f32>, %q: memref<f64>) {
  // expected-error @below {{the differences are of another type than what is added up}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %d : f32
    %w = arith.extf %e : f32 to f64
    // expected-note @below {{here}}
    nest.accumulate "q" add %w, %q[] : memref<f64>
  }
  func.return
}

// -----

func.func @products(%x: memref<12xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{the first reduction is no sum of f32 or f64 numbers, and no maximum or minimum}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    // expected-note @below {{here}}
    nest.accumulate "s" mul %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @together(%x: memref<12xf32>, %mean: f32, %s: memref<f32>, %t: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{a nest has no reduction of numbers, in any order}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    // expected-note @below {{here}}
    nest.accumulate custom (%a, %a), (%s, %t)[] identity [0.0 : f32, 0.0 : f32] {
    ^bb0(%s1: f32, %t1: f32, %s2: f32, %t2: f32):
      %s3 = arith.addf %s1, %s2 : f32
      %t3 = arith.addf %t1, %t2 : f32
      nest.yield %s3, %t3 : f32, f32
    } : memref<f32>, memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

// What the terms are less depends on the loop, itself.
func.func @its_own_number(%x: memref<12xf32>, %y: memref<12xf32>, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what is subtracted is not the same for all terms of an element}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    // expected-note @below {{here}}
    %k = arith.index_cast %i : index to i64
    %f = arith.sitofp %k : i64 to f32
    %d = arith.subf %a, %f : f32
    %e = arith.mulf %d, %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}
