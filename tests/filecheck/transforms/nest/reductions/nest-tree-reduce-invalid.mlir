// Reductions that no tree combines, and why.
// RUN: opt-tool %s -p 'nest-tree-reduce{loop=k}' --split-input-file --verify-diagnostics

func.func @symbolic(%n: index, %x: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot tree-reduce the loop "k": its number of iterations is not constant}}
  nest.for "k" %k = 0 to %n {
    %a = nest.load %x[%k] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @several(%n: index, %x: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot tree-reduce the loop "k": its number of iterations is not constant}}
  nest.for "k" %k = max(0, %n) to 8 {
    %a = nest.load %x[%k] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @empty(%x: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot tree-reduce the loop "k": it has no iterations}}
  nest.for "k" %k = 4 to 2 {
    %a = nest.load %x[%k] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @long(%x: memref<?xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot tree-reduce the loop "k": it has 100000 iterations, more than 65536}}
  nest.for "k" %k = 0 to 100000 {
    %a = nest.load %x[%k] : memref<?xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @ordered(%x: memref<8xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot tree-reduce the loop "k": it carries no reduction whose order is any}}
  nest.for "k" %k = 0 to 8 {
    %a = nest.load %x[%k] : memref<8xf32>
    nest.accumulate "s" add %a, %s[] order(fixed-tree) : memref<f32>
  }
  func.return
}

// -----

func.func @observed(%x: memref<8xf32>, %s: memref<f32>, %y: memref<8xf32>) {
  // expected-error @below {{cannot tree-reduce the loop "k": the buffer of the reduction is used elsewhere in the loop}}
  nest.for "k" %k = 0 to 8 {
    %a = nest.load %x[%k] : memref<8xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %a, %s[] : memref<f32>
    // expected-note @below {{the other access is here}}
    %b = nest.load %s[] : memref<f32>
    nest.store "y" %b, %y[%k] : memref<8xf32>
  }
  func.return
}

// -----

// Two combiners of one element do not commute.
func.func @mixed(%x: memref<8xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot tree-reduce the loop "k": the buffer of the reduction is used elsewhere in the loop}}
  nest.for "k" %k = 0 to 8 {
    %a = nest.load %x[%k] : memref<8xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %a, %s[] : memref<f32>
    // expected-note @below {{the other access is here}}
    nest.accumulate "m" maximum %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @marked(%x: memref<8xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot tree-reduce the loop "k": it is unrolled already}}
  nest.for "k" %k = 0 to 8 unrolled {
    %a = nest.load %x[%k] : memref<8xf32>
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @lanes(%x: memref<8x8xf32>, %s: memref<8xf32>) {
  // expected-note @below {{that loop is here}}
  nest.for "v" %v = 0 to 8 vectorized(8) {
    // expected-error @below {{cannot tree-reduce the loop "k": it is inside of the vectorized loop "v"}}
    nest.for "k" %k = 0 to 8 {
      %a = nest.load %x[%k, %v] : memref<8x8xf32>
      nest.accumulate "s" add %a, %s[%v] : memref<8xf32>
    }
  }
  func.return
}

// -----

// The elements of two buffers are as many as the shorter one has, and it is not known which that is.
func.func @lengths(%x: memref<8xf32>, %s: memref<?xf32>, %t: memref<?xi32>, %q: memref<8xindex>, %z: i32) {
  // expected-error @below {{cannot tree-reduce the loop "k": the total would touch elements that the loop may not}}
  nest.for "k" %k = 0 to 8 {
    %a = nest.load %x[%k] : memref<8xf32>
    %b = nest.load %q[%k] : memref<8xindex>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" custom (%a, %z), (%s, %t)[%b] identity [-1.0 : f32, 7 : i32] {
    ^bb0(%old: f32, %was: i32, %new: f32, %is: i32):
      nest.yield %new, %is : f32, i32
    } : memref<?xf32>, memref<?xi32>
  }
  func.return
}
