// Loops whose parts cannot have accumulators of their own, and why.
// RUN: opt-tool %s -p 'nest-privatise{loop=i parts=4}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %s -p 'nest-privatise{loop=i parts=0}' --split-input-file 2>&1 | filecheck %s --check-prefix=PARTS
// PARTS: cannot privatise the loop "i": there are 0 parts; the number must be positive

func.func @nothing(%n: index, %x: memref<?xf32>, %s: memref<?xf32>) {
  // expected-error @below {{cannot privatise the loop "i": it carries no reduction whose order is any}}
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.accumulate "s" add %a, %s[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @ordered(%n: index, %x: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot privatise the loop "i": a flow dependence on "s" is carried by the loop "i"}}
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{writes "s" in an earlier iteration and reads it again in a later one}}
    nest.accumulate "s" add %a, %s[] order(sequential) : memref<f32>
  }
  func.return
}

// -----

func.func @scanned(%n: index, %x: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot privatise the loop "i": a flow dependence on "x" is carried by the loop "i"}}
  nest.for "i" %i = 1 to %n {
    // expected-note @below {{reads the same element in a later one}}
    %a = nest.load %x[%i - 1] : memref<?xf32>
    // expected-note @below {{writes "x" in an earlier iteration of "i"}}
    nest.store "x" %a, %x[%i] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @custom(%n: index, %x: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot privatise the loop "i": the custom combiner is not declared associative (it states no identity)}}
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" custom %a, %s[] {
    ^bb0(%old: f32, %new: f32):
      %c = arith.subf %old, %new : f32
      nest.yield %c : f32
    } : memref<f32>
  }
  func.return
}

// -----

// The value is read in the iteration that makes it, before others add to it.
func.func @used(%n: index, %x: memref<?x?xf32>, %s: memref<?xf32>, %y: memref<?xf32>) {
  // expected-error @below {{cannot privatise the loop "i": the buffer of the reduction is used elsewhere in the loop}}
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %x[%i, %j] : memref<?x?xf32>
      // expected-note @below {{the reduction is here}}
      nest.accumulate "s" add %a, %s[%j] : memref<?xf32>
    }
    // expected-note @below {{the other access is here}}
    %b = nest.load %s[%i + 4] : memref<?xf32>
    nest.store "y" %b, %y[%i] : memref<?xf32>
  }
  func.return
}

// -----

func.func @fails(%n: index, %x: memref<?xf32>, %k: index, %s: memref<f32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  // expected-error @below {{cannot privatise the loop "i": an error in the loop would lose what was accumulated before it}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{this check can fail}}
    %q = nest.index %i + %k of %m axis 0 of "x"
    %a = nest.load %x[%q] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @viewed(%n: index, %x: memref<?xf32>, %s: memref<8xf32>) {
  // expected-error @below {{cannot privatise the loop "i": the reduction goes to a view that is made in the loop}}
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %t = "memref.cast"(%s) : (memref<8xf32>) -> memref<?xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %a, %t[3] : memref<?xf32>
  }
  func.return
}

// -----

// Where the loop is empty the element was never written.
func.func @unwritten(%n: index, %x: memref<?xf32>, %s: memref<f32> {nest.role = "out"}, %zero: f32) {
  // expected-error @below {{cannot privatise the loop "i": the total would touch elements that the loop may not, and they may be out of the buffer, never written, or those of other threads}}
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf32>
    %c = arith.cmpf ogt, %a, %zero : f32
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %a, %s[] mask %c : memref<f32>
  }
  func.return
}

// -----

// Of the columns, a part would have those of other threads as well.
func.func @shared(%n: index, %x: memref<?x?xf32>, %s: memref<?xf32>) {
  nest.for "t" %t = 0 to 8 parallel {
    // expected-error @below {{cannot privatise the loop "i": the total would touch elements that the loop may not}}
    nest.for "i" %i = 0 to %n {
      nest.for "j" %j = 0 to 4 {
        %a = nest.load %x[%i, 4 * %t + %j] : memref<?x?xf32>
        // expected-note @below {{the reduction is here}}
        nest.accumulate "s" add %a, %s[4 * %t + %j] : memref<?xf32>
      }
    }
  }
  func.return
}

// -----

func.func @several(%n: index, %m: index, %x: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot privatise the loop "i": its bounds are several expressions, and a chunk of their iterations is not}}
  nest.for "i" %i = 0 to min(%n, %m) {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @marked(%n: index, %x: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot privatise the loop "i": it is unrolled already}}
  nest.for "i" %i = 0 to 8 unrolled {
    %a = nest.load %x[%i] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @lanes(%n: index, %x: memref<?x?xf32>, %s: memref<?xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "v" %v = 0 to 8 vectorized(8) {
    // expected-error @below {{cannot privatise the loop "i": it is inside of the vectorized loop "v"}}
    nest.for "i" %i = 0 to %n {
      %a = nest.load %x[%i, %v] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[%v] : memref<?xf32>
    }
  }
  func.return
}

// -----

func.func @kernel(%n: index, %x: memref<?x?xf32>, %s: memref<8xf32>) {
  // expected-note @below {{the loop "t" is bound to thread.x}}
  nest.for "t" %t = 0 to 8 bind "thread.x" {
    // expected-error @below {{cannot privatise the loop "i": a kernel allocates no global memory}}
    nest.for "i" %i = 1 to %n {
      %a = nest.load %x[%i, %t] : memref<?x?xf32>
      nest.accumulate "s" add %a, %s[%t] : memref<8xf32>
    }
  }
  func.return
}

// -----

// 0.0 is another constant than -0.0: the two combine in different ways.
func.func @unlike(%x: memref<12xf32>, %s: memref<f32>, %t: memref<f32>) {
  // expected-error @below {{cannot privatise the loop "i": a flow dependence on "s" is carried by the loop "i"}}
  nest.for "i" %i = 0 to 6 {
    %a = nest.load %x[%i] : memref<12xf32>
    // expected-note @below {{writes "s" in an earlier iteration of "i"}}
    nest.accumulate custom (%a, %a), (%s, %t)[] identity [0.0 : f32, 0.0 : f32] {
    ^bb0(%s1: f32, %t1: f32, %s2: f32, %t2: f32):
      %zero = arith.constant 0.0 : f32
      %s3 = arith.addf %s1, %s2 : f32
      %t3 = arith.addf %t1, %t2 : f32
      %t4 = arith.addf %t3, %zero : f32
      nest.yield %s3, %t4 : f32, f32
    } : memref<f32>, memref<f32>
    // expected-note @below {{reads the same element in a later one}}
    nest.accumulate custom (%a, %a), (%s, %t)[] identity [0.0 : f32, 0.0 : f32] {
    ^bb0(%s1: f32, %t1: f32, %s2: f32, %t2: f32):
      %zero = arith.constant -0.0 : f32
      %s3 = arith.addf %s1, %s2 : f32
      %t3 = arith.addf %t1, %t2 : f32
      %t4 = arith.addf %t3, %zero : f32
      nest.yield %s3, %t4 : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}
