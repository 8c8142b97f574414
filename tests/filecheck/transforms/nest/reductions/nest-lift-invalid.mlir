// Reductions of tuples that are not done base by base, and why.
// RUN: opt-tool %s -p 'nest-lift{loop=i}' --split-input-file --verify-diagnostics

func.func @marked(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{cannot lift the loop "i": it is parallel already}}
  nest.for "i" %i = 0 to 100 parallel {
    %x = nest.load %a[%i] : memref<100xf32>
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %b : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @not_set(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  // expected-error @below {{cannot lift the reduction of the loop "i": nothing in front of it sets "s" to the identity}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    // expected-note @below {{here}}
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %b : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @set_to_another_number(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  // expected-note @below {{here}}
  nest.store "s" %one, %s[] : memref<f32>
  // expected-error @below {{nothing in front of it sets "s" to the identity}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %b : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @in_order(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{its combiner is not declared to combine in any order}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    // expected-note @below {{here}}
    nest.accumulate custom (%x, %one), (%m, %s)[] order(sequential) identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %b : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @other_start(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{result 1 of its combiner is a sum, and does not start from 0}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    // expected-note @below {{here}}
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 1.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %b : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @reads_its_result(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{it reads what it accumulates into, or what may share memory with it}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    // expected-note @below {{here}}
    %y = nest.load %s[] : memref<f32>
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %b : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @two_reductions(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}, %z: memref<f32>) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{it does more than one reduction}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %b : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
    nest.accumulate "z" add %x, %z[] : memref<f32>
  }
  func.return
}

// -----

func.func @stores(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}, %z: memref<100xf32>) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{it does more than one reduction}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %b : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
    // expected-note @below {{here}}
    nest.store "z" %x, %z[%i] : memref<100xf32>
  }
  func.return
}

// -----

func.func @can_fail(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}, %n: index) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{an error in it would come at another time}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    // expected-note @below {{here}}
    %k = nest.index %i of %n axis 0 of "a"
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %m2, %b : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @both_sides_at_once(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{result 1 of its combiner adds up a term of both sides, or of none}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %p = arith.mulf %s1, %s2 : f32
      %u = arith.addf %s1, %s2 : f32
      // expected-note @below {{here}}
      %t = arith.addf %u, %p : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @a_choice(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{result 1 of its combiner is neither a named combiner of two numbers nor a sum}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %c = arith.cmpf ogt, %m1, %m2 : f32
      // expected-note @below {{here}}
      %t = arith.select %c, %s1, %s2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @sides_differ(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{result 1 of its combiner takes its two sides in different ways}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %e1 = math.exp %d1 : f32
      %t1 = arith.mulf %s1, %e1 : f32
      %d2 = arith.subf %b, %m2 : f32
      %e2 = math.exp %d2 : f32
      %t2 = arith.mulf %s2, %e2 : f32
      // expected-note @below {{here}}
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @not_linear(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}, %s: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff7fffff : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %zero, %s[] : memref<f32>
  // expected-error @below {{result 1 of its combiner is not linear in what is added up}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    nest.accumulate custom (%x, %one), (%m, %s)[] identity [0xff7fffff : f32, 0.0 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %d1 = arith.subf %m1, %b : f32
      %t1 = arith.addf %s1, %d1 : f32
      %d2 = arith.subf %m2, %b : f32
      %t2 = arith.addf %s2, %d2 : f32
      // expected-note @below {{here}}
      %t = arith.addf %t1, %t2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @share_memory(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff800000 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  // expected-error @below {{two of its results are one buffer}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    // expected-note @below {{here}}
    nest.accumulate custom (%x, %x), (%m, %m)[] identity [0xff800000 : f32, 0xff800000 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %t = arith.maximumf %s1, %s2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @nothing(%a: memref<100xf32>, %m: memref<100xf32> {nest.role = "out"}) {
  // expected-error @below {{it does more than one reduction}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    // expected-note @below {{here}}
    nest.store "m" %x, %m[%i] : memref<100xf32>
  }
  func.return
}

// -----

func.func @no_statement(%a: memref<100xf32>) {
  // expected-error @below {{it reduces nothing}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
  }
  func.return
}

// -----

func.func @may_be_one(%a: memref<100xf32>, %m: memref<f32> {nest.role = "inout", nest.alias_set = 0 : i64}, %s: memref<f32> {nest.role = "inout", nest.alias_set = 0 : i64}) {
  %lowest = arith.constant 0xff800000 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  nest.store "s" %lowest, %s[] : memref<f32>
  // expected-error @below {{two of its results may share memory}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    // expected-note @below {{here}}
    nest.accumulate custom (%x, %x), (%m, %s)[] identity [0xff800000 : f32, 0xff800000 : f32] {
    ^bb0(%m1: f32, %s1: f32, %m2: f32, %s2: f32):
      %b = arith.maximumf %m1, %m2 : f32
      %t = arith.maximumf %s1, %s2 : f32
      nest.yield %b, %t : f32, f32
    } : memref<f32>, memref<f32>
  }
  func.return
}

// -----

func.func @marked_inside(%a: memref<100x8xf32>, %m: memref<f32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff800000 : f32
  nest.store "m" %lowest, %m[] : memref<f32>
  // expected-error @below {{the loop "j" in it is marked unrolled}}
  nest.for "i" %i = 0 to 100 {
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to 8 unrolled {
      %x = nest.load %a[%i, %j] : memref<100x8xf32>
      nest.accumulate custom (%x), (%m)[] identity [0xff800000 : f32] {
      ^bb0(%m1: f32, %m2: f32):
        %b = arith.maximumf %m1, %m2 : f32
        nest.yield %b : f32
      } : memref<f32>
    }
  }
  func.return
}

// -----

func.func @in_a_vector(%a: memref<100x8xf32>, %m: memref<8xf32> {nest.role = "out"}) {
  %lowest = arith.constant 0xff800000 : f32
  // expected-note @below {{that loop is here}}
  nest.for "j" %j = 0 to 8 vectorized(8) {
    nest.store "m" %lowest, %m[%j] : memref<8xf32>
    // expected-error @below {{cannot lift the loop "i": it is inside of the vectorized loop "j"}}
    nest.for "i" %i = 0 to 100 {
      %x = nest.load %a[%i, %j] : memref<100x8xf32>
      nest.accumulate custom (%x), (%m)[%j] identity [0xff800000 : f32] {
      ^bb0(%m1: f32, %m2: f32):
        %b = arith.maximumf %m1, %m2 : f32
        nest.yield %b : f32
      } : memref<8xf32>
    }
  }
  func.return
}

// -----

func.func @a_sum(%a: memref<100xf32>, %m: memref<f32> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f32
  nest.store "m" %zero, %m[] : memref<f32>
  // expected-error @below {{it does more than one reduction by a combiner of its own}}
  nest.for "i" %i = 0 to 100 {
    %x = nest.load %a[%i] : memref<100xf32>
    nest.accumulate "m" add %x, %m[] : memref<f32>
  }
  func.return
}
