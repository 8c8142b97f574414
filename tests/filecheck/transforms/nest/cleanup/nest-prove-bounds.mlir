// RUN: opt-tool %s -p nest-prove-bounds --split-input-file | filecheck %s
// Checked indices that cannot fail become affine expressions in whatever used them; the others stay.

// A stencil in place: the bounds of the loops suffice.
// CHECK-LABEL: @stencil
// CHECK-NOT: nest.index
// CHECK: nest.load %a[%i - 1, %j]
// CHECK: nest.load %a[%i + 1, %j + 1]
// CHECK: nest.store "a" {{%\S+}}, %a[%i, %j - 1]
func.func @stencil(%a: memref<?x?xf64> {nest.role = "inout", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xf64>
  %m = memref.dim %a, %c1 : memref<?x?xf64>
  nest.for "i" %i = 1 to %n - 1 {
    nest.for "j" %j = 1 to %m - 1 {
      %0 = nest.index %i - 1 of %n axis 0 of "a"
      %1 = nest.index %j of %m axis 1 of "a"
      %x = nest.load %a[%0, %1] : memref<?x?xf64>
      %2 = nest.index %i + 1 of %n axis 0 of "a"
      %3 = nest.index %j + 1 of %m axis 1 of "a"
      %y = nest.load %a[%2, %3] : memref<?x?xf64>
      %4 = nest.index %i of %n axis 0 of "a"
      %5 = nest.index %j - 1 of %m axis 1 of "a"
      %z = arith.addf %x, %y : f64
      nest.store "a" %z, %a[%4, %5] : memref<?x?xf64>
    }
  }
  func.return
}

// -----

// Unknown extents of inputs are at least 2, and equal names are equal extents; -3 may be too far back.
// CHECK-LABEL: @from_the_end
// CHECK: [[BACK:%\S+]] = nest.index -3 of %n axis 0 of "x"
// CHECK: nest.for "i" %i = 0 to %m
// CHECK: nest.load %x[%n - 1]
// CHECK: nest.load %x[1]
// CHECK: nest.load %x[[[BACK]]]
// CHECK: nest.load %x[%n - %i - 1]
// CHECK: nest.load %y[%i]
func.func @from_the_end(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.dims = ["n"]},
                        %out: memref<f64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %m = memref.dim %y, %c0 : memref<?xf64>
  %0 = nest.index -1 of %n axis 0 of "x"
  %1 = nest.index 1 of %n axis 0 of "x"
  %2 = nest.index -3 of %n axis 0 of "x"
  nest.for "i" %i = 0 to %m {
    %a = nest.load %x[%0] : memref<?xf64>
    %b = nest.load %x[%1] : memref<?xf64>
    %c = nest.load %x[%2] : memref<?xf64>
    %3 = nest.index - %i - 1 of %n axis 0 of "x"
    %d = nest.load %x[%3] : memref<?xf64>
    %4 = nest.index %i of %n axis 0 of "y"
    %e = nest.load %y[%4] : memref<?xf64>
    %ab = arith.addf %a, %b : f64
    %abc = arith.addf %ab, %c : f64
    %abcd = arith.addf %abc, %d : f64
    %r = arith.addf %abcd, %e : f64
    nest.store "r" %r, %out[] : memref<f64>
  }
  func.return
}

// -----

// The name of a result's extent promises nothing: a difference of two extents may be 1.
// CHECK-LABEL: @result_extent
// CHECK: nest.index 1 of %n axis 0 of "r"
func.func @result_extent(%v: f64, %r: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %r, %c0 : memref<?xf64>
  %0 = nest.index 1 of %n axis 0 of "r"
  nest.store "r" %v, %r[%0] : memref<?xf64>
  func.return
}

// -----

// How far a scalar argument goes is not known, nor what a loaded number is.
// CHECK-LABEL: @unknown
// CHECK: nest.for "i" %i = 0 to %k
// CHECK: [[I:%\S+]] = nest.index %i of %n axis 0 of "x"
// CHECK: [[P:%\S+]] = nest.index {{%\S+}} of %n axis 0 of "x"
// CHECK: nest.load %x[[[P]]]
func.func @unknown(%x: memref<?xf64> {nest.role = "inout", nest.dims = ["n"]}, %p: memref<?xi64> {nest.dims = ["n"]},
                   %count: i64) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %k = arith.index_cast %count : i64 to index
  nest.for "i" %i = 0 to %k {
    %0 = nest.index %i of %n axis 0 of "x"
    %q = nest.load %p[%0] : memref<?xi64>
    %q_1 = arith.index_cast %q : i64 to index
    %1 = nest.index %q_1 of %n axis 0 of "x"
    %v = nest.load %x[%1] : memref<?xf64>
    nest.store "x" %v, %x[%0] : memref<?xf64>
  }
  func.return
}

// -----

// A triangle, and steps: 3 * floor((n - 1) / 3) + 2 may be n, with an even extent and step 2 it may not.
// CHECK-LABEL: @triangle
// CHECK: nest.load %x[%i, %j]
// CHECK: nest.store "x" {{%\S+}}, %x[%j, %i - %j]
// CHECK: nest.load %y[%k + 1]
// CHECK: nest.index %l + 1 of 10 axis 0 of "y"
func.func @triangle(%x: memref<?x?xf64> {nest.role = "inout", nest.dims = ["n", "n"]}, %y: memref<10xf64>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %i + 1 {
      %0 = nest.index %i of %n axis 0 of "x"
      %1 = nest.index %j of %n axis 1 of "x"
      %v = nest.load %x[%0, %1] : memref<?x?xf64>
      %2 = nest.index %i - %j of %n axis 1 of "x"
      nest.store "x" %v, %x[%1, %2] : memref<?x?xf64>
    }
  }
  nest.for "k" %k = 0 to 10 step 2 {
    %0 = nest.index %k + 1 of 10 axis 0 of "y"
    %v = nest.load %y[%0] : memref<10xf64>
    nest.store "x" %v, %x[0, 0] : memref<?x?xf64>
  }
  nest.for "l" %l = 0 to 10 step 3 {
    %0 = nest.index %l + 1 of 10 axis 0 of "y"
    %v = nest.load %y[%0] : memref<10xf64>
    nest.store "x" %v, %x[0, 0] : memref<?x?xf64>
  }
  func.return
}

// -----

// Expressions go where the index was used: domains, bounds, other checks, and arithmetic.
// CHECK-LABEL: @users
// CHECK: %k = arith.addi %i, {{%\S+}} : index
// CHECK: nest.for "j" %j = 0 to %i + 1
// CHECK: arith.index_cast %k : index to i64
// CHECK: nest.store "x" {{%\S+}}, %x[%i + 2] where (%j < %i + 1)
func.func @users(%x: memref<?xi64> {nest.role = "inout", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi64>
  nest.for "i" %i = 0 to %n - 2 {
    %k = nest.index %i + 1 of %n axis 0 of "x"
    nest.for "j" %j = 0 to %k {
      %0 = nest.index %k + 1 of %n axis 0 of "x"
      %v = arith.index_cast %k : index to i64
      nest.store "x" %v, %x[%0] where (%j < %k) : memref<?xi64>
    }
  }
  func.return
}

// -----

// The domain of a statement does not guard the check before it; a branch does.
// CHECK-LABEL: @guards
// CHECK: nest.store "x" %v, %x[%i - 1]
// CHECK: nest.index %j - 1 of %n axis 0 of "x"
// CHECK: nest.if
// CHECK: nest.load %x[%j - 1]
// CHECK: } else {
// CHECK: nest.load %x[%j + %n - 1]
func.func @guards(%x: memref<?xf64> {nest.role = "inout", nest.dims = ["n"]}, %v: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  nest.for "i" %i = 1 to %n + 1 {
    %0 = nest.index %i - 1 of %n axis 0 of "x"
    nest.store "x" %v, %x[%0] : memref<?xf64>
  }
  nest.for "j" %j = 0 to %n + 1 {
    %0 = nest.index %j - 1 of %n axis 0 of "x"
    nest.store "x" %v, %x[%0] where (%j >= 2) : memref<?xf64>
    %after = arith.cmpi sgt, %j, %c0 : index
    nest.if %after {
      %1 = nest.index %j - 1 of %n axis 0 of "x"
      %w = nest.load %x[%1] : memref<?xf64>
      nest.store "x" %w, %x[0] : memref<?xf64>
    } else {
      %1 = nest.index %j - 1 of %n axis 0 of "x"
      %w = nest.load %x[%1] : memref<?xf64>
      nest.store "x" %w, %x[0] : memref<?xf64>
    }
  }
  func.return
}

// -----

// Clamped and periodic neighbours: `min(i + 1, n - 1)`, and `(i + 1) % n` as Python has it.
// CHECK-LABEL: @neighbours
// CHECK-NOT: nest.index
func.func @neighbours(%x: memref<?xf64> {nest.role = "inout", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %last = arith.subi %n, %c1 : index
  nest.for "i" %i = 0 to %n {
    %next = arith.addi %i, %c1 : index
    %clamped = arith.minsi %next, %last : index
    %0 = nest.index %clamped of %n axis 0 of "x"
    %v = nest.load %x[%0] : memref<?xf64>
    %rest = arith.remsi %next, %n : index
    %some = arith.cmpi ne, %rest, %c0 : index
    %signs = arith.xori %rest, %n : index
    %differ = arith.cmpi slt, %signs, %c0 : index
    %wraps = arith.andi %some, %differ : i1
    %wrapped = arith.addi %rest, %n : index
    %periodic = arith.select %wraps, %wrapped, %rest : index
    %1 = nest.index %periodic of %n axis 0 of "x"
    nest.store "x" %v, %x[%1] : memref<?xf64>
  }
  func.return
}

// -----

// Quotients and remainders by constants: shifts, low bits, and C's division.
// CHECK-LABEL: @halves
// CHECK-NOT: nest.index
func.func @halves(%x: memref<?xf64> {nest.role = "inout", nest.dims = ["n"]}, %k: i64, %v: f64) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i64
  %three = arith.constant 3 : i64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %low = arith.andi %k, %one : i64
  %parity = arith.index_cast %low : i64 to index
  %0 = nest.index %parity of %n axis 0 of "x"
  nest.store "x" %v, %x[%0] : memref<?xf64>
  nest.for "i" %i = 0 to 2 * %n {
    %wide = arith.index_cast %i : index to i64
    %half = arith.shrsi %wide, %one : i64
    %middle = arith.index_cast %half : i64 to index
    %1 = nest.index %middle of %n axis 0 of "x"
    nest.store "x" %v, %x[%1] : memref<?xf64>
    %third = arith.divsi %wide, %three : i64
    %early = arith.index_cast %third : i64 to index
    %2 = nest.index %early of %n axis 0 of "x"
    nest.store "x" %v, %x[%2] : memref<?xf64>
  }
  func.return
}

// -----

// Half of what may be negative, or too large, is checked.
// CHECK-LABEL: @halves_of_any
// CHECK-COUNT-2: nest.index
func.func @halves_of_any(%x: memref<?xf64> {nest.role = "inout", nest.dims = ["n"]}, %k: i64, %v: f64) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %low = arith.andi %k, %two : i64
  %even = arith.index_cast %low : i64 to index
  %0 = nest.index %even of %n axis 0 of "x"
  nest.store "x" %v, %x[%0] : memref<?xf64>
  nest.for "i" %i = 0 to 2 * %n + 1 {
    %wide = arith.index_cast %i : index to i64
    %half = arith.shrsi %wide, %one : i64
    %middle = arith.index_cast %half : i64 to index
    %1 = nest.index %middle of %n axis 0 of "x"
    nest.store "x" %v, %x[%1] : memref<?xf64>
  }
  func.return
}

// -----

// Scalars of while loops have ranges: a binary search never leaves the array.
// CHECK-LABEL: @search
// CHECK-NOT: nest.index
// CHECK: nest.load %a[%{{.*}}] : memref<?xf64>
func.func @search(%a: memref<?xf64> {nest.dims = ["n"]}, %x: f64, %out: memref<i64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = memref.dim %a, %c0 : memref<?xf64>
  %size = arith.index_cast %n : index to i64
  %low = nest.alloc "low" : memref<i64>
  %high = nest.alloc "high" : memref<i64>
  nest.store "low" %zero, %low[] : memref<i64>
  nest.store "high" %size, %high[] : memref<i64>
  scf.while () : () -> () {
    %l = nest.load %low[] : memref<i64>
    %h = nest.load %high[] : memref<i64>
    %more = arith.cmpi slt, %l, %h : i64
    scf.condition(%more)
  } do {
    %l = nest.load %low[] : memref<i64>
    %h = nest.load %high[] : memref<i64>
    %sum = arith.addi %l, %h : i64
    %middle = arith.shrsi %sum, %one : i64
    %m = arith.index_cast %middle : i64 to index
    %k = nest.index %m of %n axis 0 of "a"
    %v = nest.load %a[%k] : memref<?xf64>
    %less = arith.cmpf olt, %v, %x : f64
    nest.if %less {
      %next = arith.addi %middle, %one : i64
      nest.store "low" %next, %low[] : memref<i64>
    } else {
      nest.store "high" %middle, %high[] : memref<i64>
    }
    scf.yield
  }
  %result = nest.load %low[] : memref<i64>
  nest.store "found" %result, %out[] : memref<i64>
  func.return
}

// -----

// A counter that nothing bounds from above counts from the start; one that goes down may become negative.
// CHECK-LABEL: @counters
// CHECK: nest.index %{{.*}} of %n axis 0 of "up" from_start
// CHECK: nest.index %{{.*}} of %n axis 0 of "down"{{$}}
func.func @counters(%a: memref<?xi1> {nest.dims = ["n"]}, %out: memref<i1> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = memref.dim %a, %c0 : memref<?xi1>
  %i = nest.alloc "i" : memref<i64>
  %j = nest.alloc "j" : memref<i64>
  nest.store "i" %zero, %i[] : memref<i64>
  nest.store "j" %zero, %j[] : memref<i64>
  scf.while () : () -> () {
    %0 = nest.load %i[] : memref<i64>
    %1 = arith.index_cast %0 : i64 to index
    %2 = nest.index %1 of %n axis 0 of "up"
    %more = nest.load %a[%2] : memref<?xi1>
    scf.condition(%more)
  } do {
    %3 = nest.load %i[] : memref<i64>
    %4 = nest.load %j[] : memref<i64>
    %5 = arith.index_cast %4 : i64 to index
    %6 = nest.index %5 of %n axis 0 of "down"
    %7 = nest.load %a[%6] : memref<?xi1>
    nest.store "out" %7, %out[] : memref<i1>
    %8 = arith.addi %3, %one : i64
    nest.store "i" %8, %i[] : memref<i64>
    %9 = arith.subi %4, %one : i64
    nest.store "j" %9, %j[] : memref<i64>
    scf.yield
  }
  func.return
}

// -----

// The condition of a branch bounds an index from below only: no wrapping, but a comparison.
// CHECK-LABEL: @behind
// CHECK: nest.index %i - %w of %n axis 0 of "a" from_start
func.func @behind(%a: memref<?xf64> {nest.dims = ["n"]}, %w: index, %out: memref<f64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %c = arith.cmpi sge, %i, %w : index
    nest.if %c {
      %k = nest.index %i - %w of %n axis 0 of "a"
      %v = nest.load %a[%k] : memref<?xf64>
      nest.store "out" %v, %out[] : memref<f64>
    }
  }
  func.return
}

// -----

// What is said of a variable before it has a value says nothing of what is stored to it later.
// CHECK-LABEL: @stored_after
// CHECK: nest.index %{{.*}} of 10 axis 0 of "a"{{$}}
func.func @stored_after(%a: memref<10xf64>, %x: i64, %out: memref<f64> {nest.role = "out"}) {
  %zero = arith.constant 0 : i64
  %three = arith.constant 3 : i64
  %k = nest.alloc "k" : memref<i64>
  %before = nest.load %k[] : memref<i64>
  %c = arith.cmpi sgt, %x, %zero : i64
  nest.if %c {
    nest.store "k" %x, %k[] : memref<i64>
  }
  %least = arith.cmpi sge, %before, %zero : i64
  %most = arith.cmpi slt, %before, %three : i64
  %small = arith.andi %least, %most : i1
  nest.if %small {
    %0 = nest.load %k[] : memref<i64>
    %1 = arith.index_cast %0 : i64 to index
    %2 = nest.index %1 of 10 axis 0 of "a"
    %v = nest.load %a[%2] : memref<10xf64>
    nest.store "out" %v, %out[] : memref<f64>
  }
  func.return
}

// -----

// A true i1 is -1 as a signed number, and 1 as an unsigned one.
// CHECK-LABEL: @truth
// CHECK: nest.index %{{.*}} of 1 axis 0 of "a" from_start
// CHECK-NOT: nest.index
func.func @truth(%a: memref<1xf64>, %b: memref<2xf64>, %flag: i1, %out: memref<f64> {nest.role = "out"}) {
  %true = arith.constant true
  %c = arith.cmpi eq, %flag, %true : i1
  nest.if %c {
    %0 = arith.extui %flag : i1 to i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = nest.index %1 of 1 axis 0 of "a"
    %v = nest.load %a[%2] : memref<1xf64>
    %3 = nest.index %1 of 2 axis 0 of "b"
    %w = nest.load %b[%3] : memref<2xf64>
    %sum = arith.addf %v, %w : f64
    nest.store "out" %sum, %out[] : memref<f64>
  }
  func.return
}

// -----

// What is known of an unknown extent: the index 7 needs at least 8 elements, and 100 is above what there can be.
// CHECK-LABEL: @known_extents
// CHECK: nest.load %a[7]
// CHECK: [[AT:%\S+]] = nest.index 100 of
// CHECK: nest.load %a[[[AT]]]
// CHECK: [[K:%\S+]] = nest.index 7 of
// CHECK: nest.load %b[[[K]]]
// CHECK-NOT: nest.index
// CHECK: nest.store "c" {{%\S+}}, %c[%i]
func.func @known_extents(%a: memref<?xf64> {nest.dims = ["n"]}, %b: memref<?xf64> {nest.dims = ["m"]}, %c: memref<64xf64>) attributes {nestor.extents = {n = [8, 64, 8]}} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf64>
  %m = memref.dim %b, %c0 : memref<?xf64>
  %c64 = arith.constant 64 : index
  %0 = nest.index 7 of %n axis 0 of "a"
  %x = nest.load %a[%0] : memref<?xf64>
  %1 = nest.index 100 of %n axis 0 of "a"
  %y = nest.load %a[%1] : memref<?xf64>
  %2 = nest.index 7 of %m axis 0 of "b"
  %z = nest.load %b[%2] : memref<?xf64>
  %s = arith.addf %x, %y : f64
  %t = arith.addf %s, %z : f64
  nest.for "i" %i = 0 to %n {
    %3 = nest.index %i of 64 axis 0 of "c"
    nest.store "c" %t, %c[%3] : memref<64xf64>
  }
  func.return
}
