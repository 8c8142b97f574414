// Every lane of a reduction gets an accumulator of its own; they start at the identity and are combined at the end.
// RUN: opt-tool %s -p 'nest-rfactor{loop=v}' --split-input-file | filecheck %s

// CHECK-LABEL: @sum
// CHECK: [[ACC:%\S+]] = nest.alloc "s_lanes" : memref<16xf32>
// CHECK: [[ZERO:%\S+]] = arith.constant -0.000000e+00 : f32
// CHECK: nest.for "v.init" [[L:%\S+]] = 0 to 16 {
// CHECK-NEXT: nest.store "s" [[ZERO]], [[ACC]]{{\[}}[[L]]]
// CHECK: nest.for "o" {{%\S+}} = 2 to %n {
// CHECK-NEXT: nest.for "v" [[V:%\S+]] = 0 to 16 {
// CHECK: nest.accumulate "s" add {{%\S+}}, [[ACC]]{{\[}}[[V]]]
// CHECK: nest.for "v.combine" [[C:%\S+]] = 0 to 16 {
// CHECK-NEXT: [[P:%\S+]] = nest.load [[ACC]]{{\[}}[[C]]]
// CHECK-NEXT: nest.accumulate "s" add [[P]], %s[]
func.func @sum(%n: index, %x: memref<?xf32>, %s: memref<f32>) {
  nest.for "o" %o = 2 to %n {
    nest.for "v" %v = 0 to 16 {
      %a = nest.load %x[16 * %o + %v] : memref<?xf32>
      nest.accumulate "s" add %a, %s[] : memref<f32>
    }
  }
  func.return
}

// -----

// Several reductions at once, one of them over integers and part of the lanes.
// CHECK-LABEL: @both
// CHECK: arith.constant 0x7f800000 : f32
// CHECK: arith.constant 1 : i32
// CHECK: nest.accumulate "lo" minimum {{%\S+}}, {{%\S+}}[%v]
// CHECK: nest.accumulate "p" mul {{%\S+}}, {{%\S+}}[%v] where (%v < 3)
func.func @both(%n: index, %x: memref<?x4xf32>, %k: memref<?x4xi32>, %lo: memref<f32>, %p: memref<1xi32>) {
  nest.for "o" %o = 0 to %n {
    nest.for "v" %v = 0 to 4 {
      %a = nest.load %x[%o, %v] : memref<?x4xf32>
      %b = nest.load %k[%o, %v] : memref<?x4xi32>
      nest.accumulate "lo" minimum %a, %lo[] : memref<f32>
      nest.accumulate "p" mul %b, %p[0] where (%v < 3) : memref<1xi32>
    }
  }
  func.return
}

// -----

// What of the domain is fixed during the loops restricts the total as well.
// CHECK-LABEL: @masked_rows
// CHECK: nest.accumulate "s" add {{%\S+}}, {{%\S+}}[%v] where (%i < %n)
// CHECK: nest.for "v.combine"
// CHECK: nest.accumulate "s" add {{%\S+}}, %s[%i] where (%i < %n) : memref<?xf32>
func.func @masked_rows(%x: memref<?x16xf32>, %s: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %s, %c0 : memref<?xf32>
  nest.for "i" %i = 0 to 40 {
    nest.for "o" %o = 0 to 4 {
      nest.for "v" %v = 0 to 4 {
        %a = nest.load %x[%i, 4 * %o + %v] : memref<?x16xf32>
        nest.accumulate "s" add %a, %s[%i] where (%i < %n) : memref<?xf32>
      }
    }
  }
  func.return
}

// -----

// The loop may be empty, and the element then not exist: the total is taken where the loop runs.
// CHECK-LABEL: @may_be_empty
// CHECK: nest.for "v.combine"
// CHECK: nest.accumulate "s" add {{%\S+}}, %s[%i] where (%i < 5) : memref<5xf32>
func.func @may_be_empty(%x: memref<?xf32>, %s: memref<5xf32>) {
  nest.for "i" %i = 0 to 9 {
    nest.for "o" %o = %i to 5 {
      nest.for "v" %v = 0 to 4 {
        %a = nest.load %x[4 * %o + %v] : memref<?xf32>
        nest.accumulate "s" add %a, %s[%i] : memref<5xf32>
      }
    }
  }
  func.return
}

// -----

// A tail that is masked: the first iteration runs wherever the loop does, and says nothing more.
// CHECK-LABEL: @masked_tail
// CHECK: nest.for "v.combine"
// CHECK: nest.accumulate "s" add {{%\S+}}, %s[%i + %k] where (%n ceildiv 4 >= 1) : memref<?xf32>
func.func @masked_tail(%k: index, %n: index, %m: index, %x: memref<?xf32>, %s: memref<?xf32>) {
  nest.for "i" %i = 0 to %m {
    nest.for "o" %o = 0 to %n ceildiv 4 {
      nest.for "v" %v = 0 to 4 {
        %a = nest.load %x[4 * %o + %v] : memref<?xf32>
        nest.accumulate "s" add %a, %s[%i + %k] where (4 * %o + %v < %n) : memref<?xf32>
      }
    }
  }
  func.return
}

// -----

// Two reductions in one, whose combiner states its identities.
// CHECK-LABEL: @argmax
// CHECK: [[S:%\S+]] = nest.alloc "s_lanes" : memref<16xf32>
// CHECK: [[A:%\S+]] = nest.alloc "a_lanes" : memref<16xi32>
// CHECK: arith.constant -1.000000e+00 : f32
// CHECK: arith.constant 7 : i32
// CHECK: nest.accumulate "s" custom ({{%\S+}}, {{%\S+}}), ([[S]], [[A]])[%v] identity
// CHECK: nest.for "v.combine" [[C:%\S+]] = 0 to 16 {
// CHECK-NEXT: [[P:%\S+]] = nest.load [[S]]{{\[}}[[C]]]
// CHECK-NEXT: [[Q:%\S+]] = nest.load [[A]]{{\[}}[[C]]]
// CHECK-NEXT: nest.accumulate "s" custom ([[P]], [[Q]]), (%s, %a)[] identity
func.func @argmax(%n: index, %x: memref<?x16xf32>, %k: memref<?x16xi32>, %s: memref<f32>, %a: memref<i32>) {
  nest.for "o" %o = 2 to %n {
    nest.for "v" %v = 0 to 16 {
      %p = nest.load %x[%o, %v] : memref<?x16xf32>
      %q = nest.load %k[%o, %v] : memref<?x16xi32>
      nest.accumulate "s" custom (%p, %q), (%s, %a)[] identity [-1.0 : f32, 7 : i32] {
      ^bb0(%old: f32, %i: i32, %new: f32, %j: i32):
        %c = arith.cmpf ogt, %new, %old : f32
        %d = arith.select %c, %new, %old : f32
        %e = arith.select %c, %j, %i : i32
        nest.yield %d, %e : f32, i32
      } : memref<f32>, memref<i32>
    }
  }
  func.return
}

// -----

// A loop that starts elsewhere and has a step; it runs five times, the last time at 15.
// CHECK-LABEL: @steps
// CHECK: nest.alloc "s_lanes" : memref<5xi32>
// CHECK: nest.for "v.init" {{%\S+}} = 0 to 5 {
// CHECK: nest.for "v" [[V:%\S+]] = 3 to 17 step 3 {
// CHECK: nest.accumulate "s" add {{%\S+}}, {{%\S+}}{{\[}}([[V]] - 3) floordiv 3]
// CHECK: nest.for "v.combine" {{%\S+}} = 0 to 5 {
func.func @steps(%n: index, %x: memref<?x17xi32>, %s: memref<i32>) {
  nest.for "o" %o = 0 to %n {
    nest.for "v" %v = 3 to 17 step 3 {
      %a = nest.load %x[%o, %v] : memref<?x17xi32>
      nest.accumulate "s" add %a, %s[] : memref<i32>
    }
  }
  func.return
}

// -----

// How often the loop runs is known before the one around it, where it starts is not.
// CHECK-LABEL: @symbolic
// CHECK: [[SIZE:%\S+]] = arith.maxsi
// CHECK: nest.alloc "s_lanes"([[SIZE]]) : memref<?xi32>
// CHECK: nest.for "v.init" {{%\S+}} = 0 to %n - 2 {
// CHECK: nest.for "v" [[V:%\S+]] = %o + 2 to %o + %n {
// CHECK: nest.accumulate "s" add {{%\S+}}, {{%\S+}}{{\[}}[[V]] - %o - 2]
// CHECK: nest.for "v.combine" {{%\S+}} = 0 to %n - 2 {
func.func @symbolic(%n: index, %x: memref<?x?xi32>, %s: memref<i32>) {
  nest.for "o" %o = 0 to %n {
    nest.for "v" %v = %o + 2 to %o + %n {
      %a = nest.load %x[%o, %v] : memref<?x?xi32>
      nest.accumulate "s" add %a, %s[] : memref<i32>
    }
  }
  func.return
}

// -----

// Another sum goes to the same element meanwhile: it adds to the total as it did.
// CHECK-LABEL: @two_sums
// CHECK: nest.accumulate "s" add {{%\S+}}, {{%\S+}}[%v]
// CHECK: nest.accumulate "s" add {{%\S+}}, %s[%i]
// CHECK: nest.for "v.combine"
// CHECK: nest.accumulate "s" add {{%\S+}}, %s[%i]
func.func @two_sums(%n: index, %x: memref<?x9xi32>, %s: memref<8xi32>) {
  nest.for "i" %i = 2 to 8 {
    nest.for "o" %o = 0 to %n {
      nest.for "v" %v = 0 to 8 {
        %a = nest.load %x[%o, %v] : memref<?x9xi32>
        nest.accumulate "s" add %a, %s[%i] : memref<8xi32>
      }
      nest.for "t" %t = 8 to 9 {
        %b = nest.load %x[%o, %t] : memref<?x9xi32>
        nest.accumulate "s" add %b, %s[%i] : memref<8xi32>
      }
    }
  }
  func.return
}
