// Sums that cannot be taken a part at a time, and why.
// RUN: opt-tool %s -p 'nest-block-moments{sums=i squares=i.1 parts=4}' --split-input-file --verify-diagnostics

func.func @unknown(%n: index, %x: memref<?xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{cannot sum up parts of "i" with squares of "i.1": they are not known to run through the same iterations, a constant number of them}}
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
  // expected-error @below {{the squares do not follow in the same body}}
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

func.func @largest(%x: memref<12xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{a nest is not one sum of f32 or f64 numbers, in any order}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    // expected-note @below {{here}}
    nest.accumulate "s" maximum %a, %s[] : memref<f32>
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

func.func @product(%x: memref<12xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what is added up second is not the square of a difference}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %a : f32
    // expected-note @below {{here}}
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @others(%x: memref<13xf32>, %mean: f32, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{the differences are not of the terms that are added up first}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<13xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i + 1] : memref<13xf32>
    // expected-note @below {{here}}
    %d = arith.subf %a, %mean : f32
    %e = arith.mulf %d, %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @unlike(%x: memref<12x3xf32>, %mean: f32, %s: memref<3xf32>, %q: memref<f32>) {
  // expected-error @below {{the two sums go to elements that are not known to correspond}}
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
  // expected-error @below {{an index of the sum is not that of an inner loop over all of its elements}}
  nest.for "i" %i = 0 to 12 {
    nest.for "j" %j = 0 to 3 {
      %a = nest.load %x[%i, %j] : memref<12x3xf32>
      nest.accumulate "s" add %a, %s[%j] : memref<4xf32>
    }
  }
  nest.for "i.1" %i = 0 to 12 {
    nest.for "j.1" %j = 0 to 3 {
      %a = nest.load %x[%i, %j] : memref<12x3xf32>
      %d = arith.subf %a, %mean : f32
      %e = arith.mulf %d, %d : f32
      // expected-note @below {{here}}
      nest.accumulate "q" add %e, %q[%j] : memref<4xf32>
    }
  }
  func.return
}

// -----

func.func @changing(%x: memref<12xf32>, %y: memref<12xf32>, %s: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what is subtracted is not the same for all terms of a sum}}
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
