// Consumers that cannot be applied to the accumulators of a reduction, and why.
// RUN: opt-tool %s -p 'nest-fuse-epilogue{consumer=p loop=i}' --split-input-file --verify-diagnostics

func.func @no_reduction(%x: memref<8x5xf32>, %y: memref<8xf32>, %w: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<8xf32>
  // expected-note @below {{the loop is here}}
  nest.for "i" %i = 0 to 8 {
    nest.store "t" %zero, %t[%i] : memref<8xf32>
    nest.for "k" %k = 0 to 5 {
      %b = nest.load %x[%i, %k] : memref<8x5xf32>
      nest.accumulate "t" add %b, %t[%i] : memref<8xf32>
    }
  }
  // expected-error @below {{cannot fuse the loop "p" as an epilogue into the loop "i": it reads no result of a reduction in that loop}}
  nest.for "p" %p = 0 to 8 {
    %u = nest.load %w[%p] : memref<8xf32>
    nest.store "y" %u, %y[%p] : memref<8xf32>
  }
  func.return
}

// -----

func.func @two_reductions(%x: memref<8x5xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = nest.alloc "t" : memref<8xf32>
  %s = nest.alloc "s" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    nest.store "t" %zero, %t[%i] : memref<8xf32>
    nest.store "s" %zero, %s[%i] : memref<8xf32>
    nest.for "k" %k = 0 to 5 {
      %b = nest.load %x[%i, %k] : memref<8x5xf32>
      // expected-note @below {{this reduction is one}}
      nest.accumulate "t" add %b, %t[%i] : memref<8xf32>
      // expected-note @below {{this reduction is one}}
      nest.accumulate "s" maximum %b, %s[%i] : memref<8xf32>
    }
  }
  // expected-error @below {{it reads results of 2 reductions}}
  nest.for "p" %p = 0 to 8 {
    %u = nest.load %t[%p] : memref<8xf32>
    %w = nest.load %s[%p] : memref<8xf32>
    nest.store "y" %u, %y[%p] : memref<8xf32>
  }
  func.return
}

// -----

func.func @argument(%x: memref<8x5xf32>, %y: memref<8xf32>, %t: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "i" %i = 0 to 8 {
    nest.store "t" %zero, %t[%i] : memref<8xf32>
    nest.for "k" %k = 0 to 5 {
      %b = nest.load %x[%i, %k] : memref<8x5xf32>
      // expected-note @below {{the reduction is here}}
      nest.accumulate "t" add %b, %t[%i] : memref<8xf32>
    }
  }
  // expected-error @below {{the result of the reduction is an argument, which is to hold it}}
  nest.for "p" %p = 0 to 8 {
    %u = nest.load %t[%p] : memref<8xf32>
    nest.store "y" %u, %y[%p] : memref<8xf32>
  }
  func.return
}

// -----

func.func @initialised_elsewhere(%x: memref<8x5xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{2 statements write it}}
  %t = nest.alloc "t" : memref<8xf32>
  nest.for "h" %h = 0 to 8 {
    // expected-note @below {{this statement writes it}}
    nest.store "t" %zero, %t[%h] : memref<8xf32>
  }
  // expected-note @below {{this statement writes it}}
  nest.for "i" %i = 0 to 8 {
    nest.for "k" %k = 0 to 5 {
      %b = nest.load %x[%i, %k] : memref<8x5xf32>
      nest.accumulate "t" add %b, %t[%i] : memref<8xf32>
    }
  }
  nest.for "p" %p = 0 to 8 {
    %u = nest.load %t[%p] : memref<8xf32>
    nest.store "y" %u, %y[%p] : memref<8xf32>
  }
  func.return
}
