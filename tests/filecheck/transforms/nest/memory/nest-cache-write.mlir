// An iteration writes to a buffer of its own; it is loaded first only where an element may be read before it is stored.
// RUN: opt-tool %s -p 'nest-cache-write{buffer=y loop=o}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nest-cache-write{buffer=y loop=o tail=mask}' --split-input-file | filecheck %s --check-prefix=MASK

// Every element of the tile is stored before it is accumulated into: nothing is loaded. The last tile is not whole.
// CHECK-LABEL: @tile
// CHECK: nest.for "o" [[O:%\S+]] = 0 to %m ceildiv 16 {
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "y_local" : memref<4x16xf32>
// CHECK-NEXT: nest.for "i" [[I:%\S+]] = 3 to 7 {
// CHECK-NEXT: nest.for "v" [[V:%\S+]] = 0 to min(16, %m - 16 * [[O]]) {
// CHECK-NEXT: nest.store "y" %zero, [[C]]{{\[}}[[I]] - 3, [[V]]]
// CHECK: nest.accumulate "y" add {{%\S+}}, [[C]]{{\[}}[[I]] - 3, [[V]]]
// CHECK: nest.for "y_local.back.ax0" [[A:%\S+]] = 0 to 4 {
// CHECK-NEXT: nest.for "y_local.back.ax1" [[B:%\S+]] = 0 to min(16, %m - 16 * [[O]]) {
// CHECK-NEXT: [[E:%\S+]] = nest.load [[C]]{{\[}}[[A]], [[B]]]
// CHECK-NEXT: nest.store "y" [[E]], %y{{\[}}[[A]] + 3, 16 * [[O]] + [[B]]]
func.func @tile(%p: index, %x: memref<9x?xf32> {nest.dims = [9, "m"]}, %y: memref<9x?xf32> {nest.role = "out", nest.dims = [9, "m"]}) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %x, %c1 : memref<9x?xf32>
  nest.for "o" %o = 0 to %m ceildiv 16 {
    nest.for "i" %i = 3 to 7 {
      nest.for "v" %v = 0 to min(16, %m - 16 * %o) {
        nest.store "y" %zero, %y[%i, 16 * %o + %v] : memref<9x?xf32>
        nest.for "k" %k = 0 to %p {
          %a = nest.load %x[%i, 16 * %o + %v] : memref<9x?xf32>
          nest.accumulate "y" add %a, %y[%i, 16 * %o + %v] : memref<9x?xf32>
        }
      }
    }
  }
  func.return
}

// -----

// What is not stored goes back as it was loaded: elements 0, 2, 4 of a window of five, under a branch.
// CHECK-LABEL: @some
// CHECK: [[C:%\S+]] = nest.alloc "y_local" : memref<5xi32>
// CHECK-NEXT: nest.for "y_local.load.ax0" [[A:%\S+]] = 0 to 5 {
// CHECK-NEXT: [[E:%\S+]] = nest.load %y[5 * %o + [[A]]]
// CHECK-NEXT: nest.store "y_local" [[E]], [[C]]{{\[}}[[A]]]
// CHECK: nest.store "y" {{%\S+}}, [[C]]{{\[}}%j]
// CHECK: nest.for "y_local.back.ax0" {{%\S+}} = 0 to 5 {
func.func @some(%c: i1, %x: memref<40xi32>, %y: memref<40xi32>) {
  nest.for "o" %o = 0 to 8 {
    nest.for "j" %j = 0 to 6 step 2 {
      nest.if %c {
        %a = nest.load %x[5 * %o + %j] : memref<40xi32>
        nest.store "y" %a, %y[5 * %o + %j] : memref<40xi32>
      }
    }
  }
  func.return
}

// -----

// The loop starts at 2: the copy is of what one iteration writes, wherever that is.
// CHECK-LABEL: @shifted
// CHECK: nest.for "o" [[O:%\S+]] = 2 to %n {
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "y_local" : memref<5xf32>
// CHECK: nest.store "y" %a, [[C]][%j]
// CHECK: nest.for "y_local.back.ax0" [[B:%\S+]] = 0 to min(5, {{%\S+}} - 5 * [[O]] + 10) {
// CHECK: nest.store "y" {{%\S+}}, %y[5 * [[O]] + [[B]] - 10]
func.func @shifted(%n: index, %a: f32, %y: memref<?xf32>) {
  nest.for "o" %o = 2 to %n {
    nest.for "j" %j = 0 to 5 {
      nest.store "y" %a, %y[5 * %o + %j - 10] : memref<?xf32>
    }
  }
  func.return
}

// -----

// One branch or the other stores each element: nothing is loaded.
// CHECK-LABEL: @branches
// CHECK: [[C:%\S+]] = nest.alloc "y_local" : memref<8xf32>
// CHECK-NEXT: nest.for "j" %j = 0 to 8 {
// CHECK: nest.store "y" %a, [[C]][%j]
// CHECK: } else {
// CHECK-NEXT: nest.store "y" %b, [[C]][%j]
// CHECK: nest.for "y_local.back.ax0"
func.func @branches(%n: index, %edge: index, %a: f32, %b: f32, %y: memref<?x8xf32> {nest.role = "out"}) {
  nest.for "o" %o = 0 to %n {
    nest.for "j" %j = 0 to 8 {
      %c = arith.cmpi slt, %j, %edge : index
      nest.if %c {
        nest.store "y" %a, %y[%o, %j] : memref<?x8xf32>
      } else {
        nest.store "y" %b, %y[%o, %j] : memref<?x8xf32>
      }
    }
  }
  func.return
}

// -----

// A result that is set before the loop, every element of it: what the loop does not update goes back as it was loaded.
// CHECK-LABEL: @set_before
// CHECK: nest.for "o"
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "y_local"([[N:%\S+]]) : memref<?xi32>
// CHECK-NEXT: nest.for "y_local.load.ax0" {{%\S+}} = 0 to [[N]] {
// CHECK: nest.accumulate "y" add {{%\S+}}, [[C]][%j] where (%o < %j + 1)
// CHECK: nest.for "y_local.back.ax0"
func.func @set_before(%x: memref<?x?xi32> {nest.dims = ["n", "m"]}, %y: memref<?xi32> {nest.role = "out", nest.dims = ["m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %x, %c0 : memref<?x?xi32>
  %m = memref.dim %x, %c1 : memref<?x?xi32>
  nest.for "k" %k = 0 to %m {
    nest.store "y" %zero, %y[%k] : memref<?xi32>
  }
  nest.for "o" %o = 0 to %n {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%o, %j] : memref<?x?xi32>
      nest.accumulate "y" add %a, %y[%j] where (%j >= %o) : memref<?xi32>
    }
  }
  func.return
}

// -----

// Another argument may be the same memory; it is read, and written, before "y" is.
// CHECK-LABEL: @aliased
// CHECK: nest.for "o"
// CHECK-NEXT: [[C:%\S+]] = nest.alloc "y_local" : memref<f32>
// CHECK-NEXT: nest.load %x[%o]
// CHECK-NEXT: nest.store "x" {{%\S+}}, %x[%o]
// CHECK-NEXT: nest.store "y" {{%\S+}}, [[C]][]
// CHECK-NEXT: [[E:%\S+]] = nest.load [[C]][]
// CHECK-NEXT: nest.store "y" [[E]], %y[%o]
func.func @aliased(%v: f32, %x: memref<8xf32> {nest.alias_set = 1 : i64}, %y: memref<8xf32> {nest.alias_set = 1 : i64}) {
  nest.for "o" %o = 0 to 8 {
    %a = nest.load %x[%o] : memref<8xf32>
    nest.store "x" %v, %x[%o] : memref<8xf32>
    nest.store "y" %a, %y[%o] : memref<8xf32>
  }
  func.return
}

// -----

// A branch on what is computed: either way each element is stored.
// CHECK-LABEL: @either_way
// CHECK: [[C:%\S+]] = nest.alloc "y_local" : memref<8xf32>
// CHECK-NEXT: nest.for "j" %j = 0 to 8 {
// CHECK: nest.store "y" {{%\S+}}, [[C]][%j]
// CHECK: nest.for "k" %k = 0 to 2 {
// CHECK-NEXT: nest.store "y" {{%\S+}}, [[C]][%j]
func.func @either_way(%zero: f32, %x: memref<8xf32>, %y: memref<4x8xf32> {nest.role = "out"}) {
  nest.for "o" %o = 0 to 4 {
    nest.for "j" %j = 0 to 8 {
      %a = nest.load %x[%j] : memref<8xf32>
      %c = arith.cmpf ogt, %a, %zero : f32
      nest.if %c {
        nest.store "y" %a, %y[%o, %j] : memref<4x8xf32>
      } else {
        nest.for "k" %k = 0 to 2 {
          nest.store "y" %zero, %y[%o, %j] : memref<4x8xf32>
        }
      }
    }
  }
  func.return
}

// -----

// Either way as well, in every other row: the rows between go back as they were loaded.
// CHECK-LABEL: @either_way_in_steps
// CHECK: nest.alloc "y_local"
// CHECK-NEXT: nest.for "y_local.load.ax0"
// CHECK: nest.for "y_local.back.ax0"
func.func @either_way_in_steps(%zero: f32, %x: memref<8xf32>, %y: memref<4x8xf32>) {
  nest.for "o" %o = 0 to 4 {
    nest.for "j" %j = 1 to 8 step 2 {
      %a = nest.load %x[%j] : memref<8xf32>
      %c = arith.cmpf ogt, %a, %zero : f32
      nest.if %c {
        nest.store "y" %a, %y[%o, %j] : memref<4x8xf32>
      } else {
        nest.store "y" %zero, %y[%o, %j] : memref<4x8xf32>
      }
    }
  }
  func.return
}

// -----

// With tail=mask the loops that copy run over all of the window, and what they do has a domain.
// MASK-LABEL: @masked
// MASK: nest.for "y_local.back.ax0" [[A:%\S+]] = 0 to 16 {
// MASK-NEXT: [[E:%\S+]] = nest.load {{%\S+}}{{\[}}[[A]]]
// MASK-NEXT: nest.store "y" [[E]], %y[16 * %o + [[A]]] where (16 * %o + [[A]] < %n)
func.func @masked(%y: memref<?xf32> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %y, %c0 : memref<?xf32>
  nest.for "o" %o = 0 to %n ceildiv 16 {
    nest.for "i" %i = 0 to 16 {
      nest.store "y" %zero, %y[16 * %o + %i] where (16 * %o + %i < %n) : memref<?xf32>
    }
  }
  func.return
}
