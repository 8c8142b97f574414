// Each axis of each result: how it may be cut, the parts of the inputs that a box needs, what is complete before, and why not.
// RUN: opt-tool %s -p nest-print-chunking -o /dev/null 2>&1 | filecheck %s
// RUN: opt-tool %s -p 'nest-print-chunking{func=asymmetric}' 2>&1 >/dev/null | filecheck %s --check-prefix=ONE
// RUN: opt-tool %s -p nest-print-chunking 2>/dev/null | filecheck %s --check-prefix=MODULE

// ONE:      func @asymmetric
// ONE-NOT:  func
// MODULE-NOT: axis
// MODULE: func.func @asymmetric

// Two steps, each of which reads one before and two after: the halos add up.
// CHECK:      func @asymmetric
// CHECK-NEXT: y axis 0: halo
// CHECK-NEXT:   x axis 0: lo - 2 to hi + 4
// CHECK-NEXT: y axis 1: blockwise
// CHECK-NEXT:   x axis 1: lo to hi
func.func @asymmetric(%x: memref<?x?xf64> {nest.dims = ["n", "m"]},
                      %y: memref<?x?xf64> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  %t = nest.alloc "t"(%n, %m) : memref<?x?xf64>
  nest.for "i" %i = 1 to %n - 2 {
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[%i - 1, %j] : memref<?x?xf64>
      %b = nest.load %x[%i + 2, %j] : memref<?x?xf64>
      %c = arith.addf %a, %b : f64
      nest.store "t" %c, %t[%i, %j] : memref<?x?xf64>
    }
  }
  nest.for "k" %k = 2 to %n - 4 {
    nest.for "l" %l = 0 to %m {
      %a = nest.load %t[%k - 1, %l] : memref<?x?xf64>
      %b = nest.load %t[%k + 2, %l] : memref<?x?xf64>
      %c = arith.addf %a, %b : f64
      nest.store "y" %c, %y[%k, %l] : memref<?x?xf64>
    }
  }
  func.return
}

// The sum of each column is complete before its rows are computed; it may be cut where it adds up.
// CHECK:      func @anomaly
// CHECK-NEXT: y axis 0: blockwise, after t
// CHECK-NEXT:   x axis 0: lo to hi
// CHECK-NEXT: y axis 1: blockwise
// CHECK-NEXT:   x axis 1: lo to hi
// CHECK-NEXT: t by add over i: blockwise (nest-print-chunking.mlir:63)
// CHECK-NEXT:   x axis 0: lo to hi
func.func @anomaly(%x: memref<?x?xf64> {nest.dims = ["n", "m"]},
                   %y: memref<?x?xf64> {nest.role = "out", nest.dims = ["n", "m"]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  %t = nest.alloc "t"(%m) : memref<?xf64>
  nest.for "j" %j = 0 to %m { nest.store "t" %zero, %t[%j] : memref<?xf64> }
  nest.for "i" %i = 0 to %n {
    nest.for "j.1" %j = 0 to %m {
      %a = nest.load %x[%i, %j] : memref<?x?xf64>
      nest.accumulate "t" add %a, %t[%j] : memref<?xf64>
    }
  }
  nest.for "k" %k = 0 to %n {
    nest.for "l" %l = 0 to %m {
      %a = nest.load %x[%k, %l] : memref<?x?xf64>
      %b = nest.load %t[%l] : memref<?xf64>
      %c = arith.subf %a, %b : f64
      nest.store "y" %c, %y[%k, %l] : memref<?x?xf64>
    }
  }
  func.return
}

// Pairs are reduced together: what one becomes depends on the other. Of every other row.
// CHECK:      func @largest
// CHECK-NEXT: top axis 0: blockwise
// CHECK-NEXT:   x axis 1: lo to hi
// CHECK-NEXT:   top axis 0: lo to hi
// CHECK-NEXT:   at axis 0: lo to hi
// CHECK-NEXT: at axis 0: blockwise
// CHECK-NEXT:   x axis 1: lo to hi
// CHECK-NEXT:   top axis 0: lo to hi
// CHECK-NEXT:   at axis 0: lo to hi
// CHECK-NEXT: (top, at) by custom over i: moving
// CHECK-NEXT:   x axis 0: 2 * lo to 2 * hi - 1
func.func @largest(%x: memref<20x?xf64> {nest.dims = [20, "m"]},
                   %top: memref<?xf64> {nest.role = "inout", nest.dims = ["m"]},
                   %at: memref<?xi64> {nest.role = "inout", nest.dims = ["m"]}) {
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c1 : memref<20x?xf64>
  nest.for "i" %i = 0 to 10 {
    %k = arith.index_cast %i : index to i64
    nest.for "j" %j = 0 to %m {
      %a = nest.load %x[2 * %i, %j] : memref<20x?xf64>
      nest.accumulate custom (%a, %k), (%top, %at)[%j] identity [0xfff0000000000000 : f64, 0 : i64] {
      ^bb0(%v: f64, %p: i64, %w: f64, %q: i64):
        %c = arith.cmpf ogt, %w, %v : f64
        %d = arith.select %c, %w, %v : f64
        %e = arith.select %c, %q, %p : i64
        nest.yield %d, %e : f64, i64
      } : memref<?xf64>, memref<?xi64>
    }
  }
  func.return
}

// From the other end.
// CHECK:      func @backwards
// CHECK-NEXT: y axis 0: moving
// CHECK-NEXT:   x axis 0: n - hi to n - lo
func.func @backwards(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%n - %i - 1] : memref<?xf64>
    nest.store "y" %a, %y[%i] : memref<?xf64>
  }
  func.return
}

// CHECK:      func @running
// CHECK-NEXT: y axis 0: running
// CHECK-NEXT:   x axis 0: up to hi, because of y[i] (nest-print-chunking.mlir:136)
func.func @running(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %first = nest.load %x[0] : memref<?xf64>
  nest.store "y" %first, %y[0] : memref<?xf64>
  nest.for "i" %i = 1 to %n {
    %a = nest.load %y[%i - 1] : memref<?xf64>
    %b = nest.load %x[%i] : memref<?xf64>
    %c = arith.addf %a, %b : f64
    nest.store "y" %c, %y[%i] : memref<?xf64>
  }
  func.return
}

// Rows are those of one factor, columns of the other; the axis that both share is cut by adding up.
// CHECK:      func @product
// CHECK-NEXT: c axis 0: blockwise
// CHECK-NEXT:   a axis 0: lo to hi
// CHECK-NEXT:   b: all, because of b[k, j.1]
// CHECK-NEXT: c axis 1: blockwise
// CHECK-NEXT:   a: all, because of a[i.1, k]
// CHECK-NEXT:   b axis 1: lo to hi
// CHECK-NEXT: c by add over k: blockwise
// CHECK-NEXT:   a axis 1: lo to hi
// CHECK-NEXT:   b axis 0: lo to hi
func.func @product(%a: memref<8x9xf64>, %b: memref<9x7xf64>, %c: memref<8x7xf64> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f64
  nest.for "i" %i = 0 to 8 { nest.for "j" %j = 0 to 7 { nest.store "c" %zero, %c[%i, %j] : memref<8x7xf64> } }
  nest.for "i.1" %i = 0 to 8 {
    nest.for "j.1" %j = 0 to 7 {
      nest.for "k" %k = 0 to 9 {
        %0 = nest.load %a[%i, %k] : memref<8x9xf64>
        %1 = nest.load %b[%k, %j] : memref<9x7xf64>
        %2 = arith.mulf %0, %1 : f64
        nest.accumulate "c" add %2, %c[%i, %j] : memref<8x7xf64>
      }
    }
  }
  func.return
}

// An index that is loaded may be any.
// CHECK:      func @gather
// CHECK-NEXT: y axis 0: blockwise
// CHECK-NEXT:   x: all, because of x[k] (nest-print-chunking.mlir:179)
// CHECK-NEXT:   at axis 0: lo to hi
func.func @gather(%x: memref<?xf64> {nest.dims = ["n"]}, %at: memref<?xindex> {nest.dims = ["m"]},
                  %y: memref<?xf64> {nest.role = "out", nest.dims = ["m"]}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %at, %c0 : memref<?xindex>
  nest.for "i" %i = 0 to %m {
    %k = nest.load %at[%i] : memref<?xindex>
    %a = nest.load %x[%k] : memref<?xf64>
    nest.store "y" %a, %y[%i] : memref<?xf64>
  }
  func.return
}

// A call may read everything that it is given.
// CHECK:      func @sorted
// CHECK-NEXT: y axis 0: whole
// CHECK-NEXT:   x: all, because of the call of sort (nest-print-chunking.mlir:191)
func.func private @sort(memref<?xf64>, memref<?xf64>) -> ()
func.func @sorted(%x: memref<?xf64>, %y: memref<?xf64> {nest.role = "out"}) {
  func.call @sort(%x, %y) : (memref<?xf64>, memref<?xf64>) -> ()
  func.return
}

// What is written under a condition, or a mask, may be what the caller gave, and what an earlier statement stored.
// CHECK:      func @sometimes
// CHECK-NEXT: y axis 0: halo
// CHECK-NEXT:   x axis 0: lo to hi
// CHECK-NEXT:   w axis 0: lo to hi + 1
// CHECK-NEXT:   y axis 0: lo to hi
// CHECK-NEXT: z axis 0: blockwise
// CHECK-NEXT:   x axis 0: lo to hi
// CHECK-NEXT:   w axis 0: lo to hi
func.func @sometimes(%x: memref<?xf64> {nest.dims = ["n"]}, %w: memref<?xf64> {nest.dims = ["n"]},
                     %y: memref<?xf64> {nest.role = "inout", nest.dims = ["n"]},
                     %z: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    %c = arith.cmpf ogt, %a, %zero : f64
    nest.store "z" %a, %z[%i] : memref<?xf64>
    nest.if %c {
      %b = nest.load %w[%i + 1] : memref<?xf64>
      nest.store "y" %b, %y[%i] : memref<?xf64>
    }
    %b = nest.load %w[%i] : memref<?xf64>
    %d = arith.cmpf ogt, %b, %zero : f64
    nest.store "z" %zero, %z[%i] mask %d : memref<?xf64>
    nest.store "y" %zero, %y[%i] mask %d : memref<?xf64>
  }
  func.return
}

// A number that it is given is read as well.
// CHECK:      func @given
// CHECK-NEXT: y axis 0: whole
// CHECK-NEXT:   factor: all
func.func private @fill(f64, memref<?xf64>) -> ()
func.func @given(%factor: memref<f64>, %y: memref<?xf64> {nest.role = "out"}) {
  %a = nest.load %factor[] : memref<f64>
  func.call @fill(%a, %y) : (f64, memref<?xf64>) -> ()
  func.return
}

// Nothing is said where arguments may share memory.
// CHECK:      func @shared
// CHECK-NEXT: whole: the argument "x" may share memory with another one
// CHECK-NOT:  axis
// CHECK:      func @number
// CHECK-NEXT: no result has an axis to cut
func.func @shared(%x: memref<?xf64> {nest.alias_set = 0 : i64},
                  %y: memref<?xf64> {nest.role = "inout", nest.alias_set = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.store "y" %a, %y[%i] : memref<?xf64>
  }
  func.return
}
func.func @number(%x: memref<f64>, %y: memref<f64> {nest.role = "out"}) {
  %a = nest.load %x[] : memref<f64>
  nest.store "y" %a, %y[] : memref<f64>
  func.return
}
