// Elements that cannot share a place: another one is written to it while they are still needed.
// RUN: opt-tool %s -p 'nest-transform-layout{buffer=u layout="i -> i%3"}' --split-input-file --verify-diagnostics

func.func @four(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{two of its elements would be in one place while both are still needed}}
  %u = nest.alloc "u"(%n) : memref<?xf32>
  nest.for "i" %i = 3 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{this statement may have written the other one}}
    nest.store "u" %a, %u[%i] : memref<?xf32>
    // expected-note @below {{this load reads an element}}
    %b = nest.load %u[%i - 3] : memref<?xf32>
    nest.store "y" %b, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

// Iterations of a parallel loop run at one time.
func.func @threads(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{two of its elements would be in one place while both are still needed}}
  %u = nest.alloc "u" : memref<8xf32>
  nest.for "i" %i = 0 to 8 parallel {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{this statement may have written the other one}}
    nest.store "u" %a, %u[%i] : memref<8xf32>
    // expected-note @below {{this load reads an element}}
    %b = nest.load %u[%i] : memref<8xf32>
    nest.store "y" %b, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

// The update reads the sum so far.
func.func @updated(%x: memref<8xf32>, %zero: f32) {
  // expected-error @below {{two of its elements would be in one place while both are still needed}}
  %u = nest.alloc "u" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{this statement may have written the other one}}
    nest.store "u" %zero, %u[%i] : memref<8xf32>
  }
  nest.for "j" %j = 0 to 2 {
    nest.for "k" %k = 0 to 8 {
      %a = nest.load %x[%k] : memref<8xf32>
      // expected-note @below {{this statement updates an element}}
      nest.accumulate "u" add %a, %u[%k] : memref<8xf32>
    }
  }
  func.return
}

// -----

// Nothing is read, but threads write one place at the same time.
func.func @threads(%x: memref<8xf32>) {
  // expected-error @below {{two of its elements would be in one place, and may be written at the same time}}
  %u = nest.alloc "u" : memref<8xf32>
  nest.for "i" %i = 0 to 8 parallel {
    %a = nest.load %x[%i] : memref<8xf32>
    // expected-note @below {{one is written here}}
    // expected-note @below {{and the other one here}}
    nest.store "u" %a, %u[%i] : memref<8xf32>
  }
  func.return
}
