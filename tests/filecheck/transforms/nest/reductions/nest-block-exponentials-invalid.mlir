// Maxima and exponentials that cannot be taken a part at a time, and why.
// RUN: opt-tool %s -p 'nest-block-exponentials{maxima=i sums=i.1 parts=4}' --split-input-file --verify-diagnostics

func.func @unknown(%n: index, %x: memref<?xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{cannot take parts of the maximum "i" with exponentials "i.1": their numbers of iterations are not known to be one constant}}
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %maximum = nest.load %m[] : memref<f32>
  // expected-note @below {{here}}
  nest.for "i.1" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %d = arith.subf %a, %maximum : f32
    %e = math.exp %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @of_others(%x: memref<12xf32>, %y: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{the differences are not of the elements that the maximum is taken over}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %maximum = nest.load %m[] : memref<f32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %y[%i] : memref<12xf32>
    // expected-note @below {{here}}
    %d = arith.subf %a, %maximum : f32
    %e = math.exp %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

// What is subtracted may be below the terms by any amount: a scale could be 0 where the sum is infinite.
func.func @less_another(%x: memref<12xf32>, %c: f32, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what is subtracted is not the maximum}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    // expected-note @below {{here}}
    %d = arith.subf %a, %c : f32
    %e = math.exp %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

// The terms themselves are replaced: parts of the sum would have to be taken before.
func.func @in_place(%x: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what the exponentials are computed from may be written from the first loop on}}
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

func.func @few(%x: memref<12xf32>, %y: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{of 4 parts of 5 iterations not each has one}}
  // expected-note @below {{here}}
  nest.for "i" %i = 0 to 5 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %maximum = nest.load %m[] : memref<f32>
  nest.for "i.1" %i = 0 to 5 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %maximum : f32
    %e = math.exp %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @stored(%x: memref<12xf32>, %y: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{the loop of the maximum stores something}}
  // expected-note @below {{here}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
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

func.func @squares(%x: memref<12xf32>, %y: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{what is added up is not the exponential of a difference}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %maximum = nest.load %m[] : memref<f32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %maximum : f32
    %e = arith.mulf %d, %d : f32
    // expected-note @below {{here}}
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @two(%x: memref<12xf32>, %y: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{a loop does more than one reduction}}
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

func.func @minimum(%x: memref<12xf32>, %y: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{a loop has no reduction by "maximum", in any order}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    // expected-note @below {{here}}
    nest.accumulate "m" minimum %a, %m[] : memref<f32>
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

func.func @two_maxima(%x: memref<12xf32>, %m: memref<2xf32>, %q: memref<f32>) {
  // expected-error @below {{a reduction is not to one element}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    // expected-note @below {{here}}
    nest.accumulate "m" maximum %a, %m[%i floordiv 6] : memref<2xf32>
  }
  %maximum = nest.load %m[0] : memref<2xf32>
  nest.for "i.1" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    %d = arith.subf %a, %maximum : f32
    %e = math.exp %d : f32
    nest.accumulate "q" add %e, %q[] : memref<f32>
  }
  func.return
}

// -----

func.func @changed(%x: memref<12xf32>, %y: memref<12xf32>, %m: memref<f32>, %q: memref<f32>) {
  // expected-error @below {{the maximum is written after its loop}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %c = arith.constant 1.0 : f32
  // expected-note @below {{here}}
  nest.store "m" %c, %m[] : memref<f32>
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
  // expected-error @below {{the sum is not one of f32 or f64 numbers}}
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

func.func @apart(%x: memref<12xf32>, %m: memref<f32>, %q: memref<3xf32>) {
  // expected-error @below {{the exponentials do not follow in the same body}}
  nest.for "i" %i = 0 to 12 {
    %a = nest.load %x[%i] : memref<12xf32>
    nest.accumulate "m" maximum %a, %m[] : memref<f32>
  }
  %maximum = nest.load %m[] : memref<f32>
  nest.for "k" %k = 0 to 3 {
    // expected-note @below {{here}}
    nest.for "i.1" %i = 0 to 12 {
      %a = nest.load %x[%i] : memref<12xf32>
      %d = arith.subf %a, %maximum : f32
      %e = math.exp %d : f32
      nest.accumulate "q" add %e, %q[%k] : memref<3xf32>
    }
  }
  func.return
}
