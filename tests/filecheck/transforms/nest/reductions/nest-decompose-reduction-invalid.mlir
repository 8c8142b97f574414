// Reductions whose first values cannot be set ahead of all of them.
// RUN: opt-tool %s -p 'nest-decompose-reduction{loop=i}' --split-input-file --verify-diagnostics

func.func @nothing(%zero: f32, %s: memref<8xf32>, %t: memref<8xf32>) {
  // expected-error @below {{cannot decompose the reduction in the loop "i": the body of "i" does not start by setting it}}
  nest.for "i" %i = 0 to 8 {
    nest.store "t" %zero, %t[%i] : memref<8xf32>
    nest.for "k" %k = 0 to 8 {
      nest.accumulate "s" add %zero, %s[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

// One element for all iterations: the second sum would start from the first.
func.func @shared(%zero: f32, %s: memref<f32>, %y: memref<8xf32>) {
  // expected-error @below {{cannot decompose the reduction in the loop "i": it turns a flow dependence around}}
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{writes the same element in a later one, and would run before it}}
    nest.store "s" %zero, %s[] : memref<f32>
    nest.for "k" %k = 0 to 8 {
      // expected-note @below {{updates "s" in an earlier iteration}}
      nest.accumulate "s" add %zero, %s[] : memref<f32>
    }
    %v = nest.load %s[] : memref<f32>
    nest.store "y" %v, %y[%i] : memref<8xf32>
  }
  func.return
}

// -----

func.func @private(%zero: f32, %y: memref<8x8xf32>) {
  // expected-error @below {{cannot decompose the reduction in the loop "i": the loop "j" cannot be distributed: both parts use a buffer that each iteration makes for itself}}
  nest.for "i" %i = 0 to 8 {
    nest.for "j" %j = 0 to 8 {
      // expected-note @below {{it is in shared memory, of which there is one part per thread or block}}
      // expected-note @below {{the buffer is made here}}
      %s = nest.alloc "s" : memref<f32, 3>
      nest.store "s" %zero, %s[] : memref<f32, 3>
      // expected-note @below {{the second part starts here}}
      nest.for "k" %k = 0 to 8 {
        nest.accumulate "s" add %zero, %s[] : memref<f32, 3>
      }
      %v = nest.load %s[] : memref<f32, 3>
      nest.store "y" %v, %y[%i, %j] : memref<8x8xf32>
    }
  }
  func.return
}

// -----

func.func @marked(%zero: f32, %s: memref<8xf32>) {
  // expected-error @below {{cannot decompose the reduction in the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 8 parallel {
    nest.store "s" %zero, %s[%i] : memref<8xf32>
    nest.for "k" %k = 0 to 8 {
      nest.accumulate "s" add %zero, %s[%i] : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @fails(%n: index, %zero: f32, %s: memref<8xf32>) {
  // expected-error @below {{cannot decompose the reduction in the loop "i": an error must be that of the first iteration in program order}}
  nest.for "i" %i = 0 to 8 {
    nest.store "s" %zero, %s[%i] : memref<8xf32>
    nest.for "k" %k = 0 to 8 {
      // expected-note @below {{this check can fail}}
      %e = nest.index %k of %n axis 0 of "s"
      nest.accumulate "s" add %zero, %s[%e] : memref<8xf32>
    }
  }
  func.return
}
