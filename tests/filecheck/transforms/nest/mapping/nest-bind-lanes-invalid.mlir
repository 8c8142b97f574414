// What lanes cannot share: other dependences than reductions, and reductions that not all of them take part in.
// RUN: opt-tool %s -p 'nest-bind{loop=l axis=lane}' --verify-diagnostics --split-input-file

func.func @too_many(%v: f32, %y: memref<64xf32>) {
  // expected-error @below {{cannot bind the loop "l" to lane: it has 64 iterations, a warp 32 lanes}}
  nest.for "l" %l = 0 to 64 {
    nest.store "y" %v, %y[%l] : memref<64xf32>
  }
  func.return
}

// -----

func.func @unknown(%v: f32, %n: index, %y: memref<?xf32>) {
  // expected-error @below {{cannot bind the loop "l" to lane: a block has a constant number of threads}}
  nest.for "l" %l = 0 to %n {
    nest.store "y" %v, %y[%l] : memref<?xf32>
  }
  func.return
}

// -----

func.func @carried(%x: memref<64xf32>) {
  // expected-error @below {{cannot bind the loop "l": a flow dependence on "x" is carried by the loop "l"}}
  nest.for "l" %l = 1 to 33 {
    // expected-note @below {{reads the same element in a later one}}
    %v = nest.load %x[%l - 1] : memref<64xf32>
    // expected-note @below {{writes "x" in an earlier iteration of "l"}}
    nest.store "x" %v, %x[%l] : memref<64xf32>
  }
  func.return
}

// -----

// Pairs of lanes update one element: no update of all.
func.func @pairs(%x: memref<32xf32>, %s: memref<16xf32>) {
  // expected-error @below {{cannot bind the loop "l": a reduction dependence on "s" is carried by the loop "l"}}
  nest.for "l" %l = 0 to 32 {
    %a = nest.load %x[%l] : memref<32xf32>
    // expected-note @below {{updates "s" in an earlier iteration and updates it again in a later one}}
    nest.accumulate "s" add %a, %s[%l floordiv 2] : memref<16xf32>
  }
  func.return
}

// -----

func.func @fails(%x: memref<32xi64>, %s: memref<32xf32>) {
  %v = arith.constant 1.0 : f32
  // expected-error @below {{cannot bind the loop "l": an operation in it can stop the kernel}}
  nest.for "l" %l = 0 to 32 {
    %p = nest.load %x[%l] : memref<32xi64>
    %q = arith.index_cast %p : i64 to index
    // expected-note @below {{this check can fail}}
    %k = nest.index %q of 32 axis 0 of "s"
    nest.store "s" %v, %s[%l] : memref<32xf32>
  }
  func.return
}

// -----

func.func @not_all(%x: memref<32xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot bind the loop "l": all 32 lanes take part in a reduction, but the loop does not have 32 iterations}}
  nest.for "l" %l = 0 to 20 {
    %a = nest.load %x[%l] : memref<32xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %a, %s[] : memref<f32>
  }
  func.return
}

// -----

func.func @in_order(%x: memref<32xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot bind the loop "l": a flow dependence on "s" is carried by the loop "l"}}
  nest.for "l" %l = 0 to 32 {
    %a = nest.load %x[%l] : memref<32xf32>
    // expected-note @below {{writes "s" in an earlier iteration and reads it again in a later one}}
    nest.accumulate "s" add %a, %s[] order(sequential) : memref<f32>
  }
  func.return
}

// -----

func.func @odd(%x: memref<32xi24>, %s: memref<i24>) {
  // expected-error @below {{cannot bind the loop "l": lanes exchange numbers of 8, 16, 32 or 64 bits, not i24}}
  nest.for "l" %l = 0 to 32 {
    %a = nest.load %x[%l] : memref<32xi24>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" add %a, %s[] : memref<i24>
  }
  func.return
}

// -----

func.func @own_combiner(%x: memref<32xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot bind the loop "l": the custom combiner is not declared associative (it states no identity)}}
  nest.for "l" %l = 0 to 32 {
    %a = nest.load %x[%l] : memref<32xf32>
    // expected-note @below {{the reduction is here}}
    nest.accumulate "s" custom (%a), (%s)[] {
    ^bb0(%old: f32, %new: f32):
      %r = arith.addf %old, %new : f32
      nest.yield %r : f32
    } : memref<f32>
  }
  func.return
}

// -----

func.func @in_a_branch(%x: memref<32xf32>, %c: memref<32xi1>, %s: memref<f32>) {
  // expected-error @below {{cannot bind the loop "l": some lanes may not reach what is in the branch}}
  nest.for "l" %l = 0 to 32 {
    %a = nest.load %x[%l] : memref<32xf32>
    %b = nest.load %c[%l] : memref<32xi1>
    // expected-note @below {{here}}
    nest.if %b {
      // expected-note @below {{the reduction is here}}
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
  }
  func.return
}

// -----

func.func @longer_for_some(%x: memref<32x32xf32>, %s: memref<f32>) {
  // expected-error @below {{cannot bind the loop "l": some lanes run more iterations of this loop than others}}
  nest.for "l" %l = 0 to 32 {
    // expected-note @below {{here}}
    nest.for "k" %k = 0 to %l {
      %a = nest.load %x[%l, %k] : memref<32x32xf32>
      // expected-note @below {{the reduction is here}}
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
  }
  func.return
}

// -----

func.func @same_lanes(%v: f32, %y: memref<8x32xf32>) {
  // expected-note @below {{"y" is bound to lane.y here}}
  nest.for "y" %i = 0 to 8 bind "lane.y" {
    // expected-error @below {{cannot bind the loop "l" to lane: the loop "y" is, and one is in the other}}
    nest.for "l" %l = 0 to 32 {
      nest.store "y" %v, %y[%i, %l] : memref<8x32xf32>
    }
  }
  func.return
}
