// A tile wholly inside its domain is told from one at the edge once a tile, not in the loop that sums it.
// RUN: opt-tool %s -p convert-nest-to-scf,canonicalize,cse | filecheck %s

// The least favourable row of the tile is asked for: 4 * i + 3 < m.
// CHECK-LABEL: func.func @rows
// CHECK: scf.for [[I:%.+]] =
// CHECK:   [[FIRST:%.+]] = arith.muli [[I]], %c4
// CHECK:   [[LAST:%.+]] = arith.addi [[FIRST]], %c3
// CHECK:   [[FULL:%.+]] = arith.cmpi slt, [[LAST]], %m
// CHECK:   scf.if [[FULL]] {
// CHECK:     scf.for
// CHECK-NOT:   scf.if
// CHECK:   } else {
// CHECK:     scf.for
// CHECK-COUNT-4: scf.if
func.func @rows(%x: memref<?x?xf32>, %s: memref<?xf32>, %m: index, %n: index) {
  nest.for "i" %i = 0 to %m ceildiv 4 {
    nest.for "k" %k = 0 to %n {
      nest.for "r" %r = 0 to 4 unrolled {
        %a = nest.load %x[4 * %i + %r, %k] : memref<?x?xf32>
        nest.accumulate "s" add %a, %s[4 * %i + %r] where (4 * %i + %r < %m) : memref<?xf32>
      }
    }
  }
  func.return
}

// Rows and lanes together, in a parallel loop; a falling index is least at its first value.
// CHECK-LABEL: func.func @rows_and_lanes
// CHECK: "scf.parallel"
// CHECK-DAG: arith.cmpi slt, %{{.+}}, %m
// CHECK-DAG: arith.cmpi sge, %n, %c15
// CHECK-DAG: [[BOTH:%.+]] = arith.andi
// CHECK:   scf.if [[BOTH]] {
// CHECK:     scf.for
// CHECK-NOT: vector.maskedload
// CHECK:   } else {
// CHECK:     vector.maskedload
func.func @rows_and_lanes(%x: memref<?x?xf32>, %s: memref<?x?xf32>, %m: index, %n: index) {
  nest.for "i" %i = 0 to %m ceildiv 2 parallel {
    nest.for "k" %k = 0 to %n {
      nest.for "r" %r = 0 to 2 unrolled {
        nest.for "v" %v = 0 to 16 vectorized(16) {
          %a = nest.load %x[%k, %v] : memref<?x?xf32>
          nest.accumulate "s" add %a, %s[2 * %i + %r, %v] where (2 * %i + %r < %m, %n - %v >= 0) : memref<?x?xf32>
        }
      }
    }
  }
  func.return
}

// The innermost loop that can ask does; the one around it has nothing left to ask.
// CHECK-LABEL: func.func @innermost
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK:   scf.for
// CHECK:     scf.if
// CHECK:       scf.for
// CHECK:     } else {
// CHECK:       scf.for
// CHECK-NOT: else
// CHECK: func.return
func.func @innermost(%s: memref<?x?xf32>, %v: f32, %m: index, %n: index) {
  nest.for "i" %i = 0 to %m ceildiv 2 {
    nest.for "j" %j = 0 to %n ceildiv 2 {
      nest.for "k" %k = 0 to 100 {
        nest.for "r" %r = 0 to 2 unrolled {
          nest.for "c" %c = 0 to 2 unrolled {
            nest.accumulate "s" add %v, %s[2 * %i + %r, 2 * %j + %c] where (2 * %i + %r < %m, 2 * %j + %c < %n) : memref<?x?xf32>
          }
        }
      }
    }
  }
  func.return
}

// Nothing repeats the question, it depends on the repeating loop, or it is no linear one: one version.
// CHECK-LABEL: func.func @one_version
// CHECK-NOT: else
func.func @one_version(%s: memref<?xf32>, %v: f32, %m: index) {
  nest.for "i" %i = 0 to %m ceildiv 2 {
    nest.for "r" %r = 0 to 2 unrolled {
      nest.store "s" %v, %s[2 * %i + %r] where (2 * %i + %r < %m) : memref<?xf32>
    }
    nest.for "k" %k = 0 to 100 {
      nest.accumulate "s" add %v, %s[%i] where (%i + %k < %m) : memref<?xf32>
      nest.for "t" %t = 0 to 2 unrolled {
        nest.accumulate "s" add %v, %s[%i] where ((%i + %t) mod 3 - 1 >= 0) : memref<?xf32>
      }
    }
  }
  func.return
}

// The bounds of the loops over a tile are asked as well: all four rows, all eight lanes.
// CHECK-LABEL: func.func @bounds
// CHECK: scf.for [[I:%.+]] =
// CHECK:   scf.if
// CHECK:     scf.for
// CHECK-NOT:   scf.if
// CHECK-COUNT-4: vector.store
// CHECK:   } else {
// CHECK-COUNT-4: vector.maskedstore
func.func @bounds(%x: memref<?x?xf32>, %y: memref<?x?x8xf32>, %m: index, %n: index, %p: index) {
  nest.for "i" %i = 0 to %m ceildiv 4 {
    nest.for "k" %k = 0 to %p {
      nest.for "r" %r = 0 to min(4, %m - 4 * %i) unrolled {
        nest.for "v" %v = 0 to min(8, %n - 8 * %i) vectorized(8) {
          %a = nest.load %x[%k, 8 * %i + %v] : memref<?x?xf32>
          nest.store "y" %a, %y[4 * %i + %r, %k, %v] : memref<?x?x8xf32>
        }
      }
    }
  }
  func.return
}

// What the answer settles needs no question of its own (the copy back); what it does not settle is still asked (n).
// CHECK-LABEL: func.func @settled
// CHECK: scf.if
// CHECK:   scf.for
// CHECK-NOT: scf.if
// CHECK:     memref.store %{{.+}}, %s
// CHECK:     [[N:%.+]] = arith.cmpi slt, %{{.+}}, %n
// CHECK:     scf.if [[N]] {
// CHECK:       memref.store %{{.+}}, %z
// CHECK:   } else {
func.func @settled(%s: memref<?xf32>, %z: memref<?xf32>, %v: f32, %m: index, %n: index) {
  nest.for "i" %i = 0 to %m ceildiv 2 {
    %t = nest.alloc "t" : memref<2xf32>
    nest.for "k" %k = 0 to 100 {
      nest.for "r" %r = 0 to 2 unrolled {
        nest.accumulate "t" add %v, %t[%r] where (2 * %i + %r < %m) : memref<2xf32>
      }
    }
    nest.for "b" %b = 0 to min(2, %m - 2 * %i) unrolled {
      %a = nest.load %t[%b] : memref<2xf32>
      nest.store "s" %a, %s[2 * %i + %b] : memref<?xf32>
    }
    nest.store "z" %v, %z[%i] where (%i < %n) : memref<?xf32>
  }
  func.return
}
