// On a CPU the nest that uses indices stops at the first that is outside: the check is a `nest.index`.
// RUN: opt-tool %s -p 'nest-sink-checks{in-order=true}' | filecheck %s

// CHECK-LABEL: func.func @taken
// CHECK-NOT:     nest.if
// CHECK:         nest.for "i.2" %i = 0 to 96 {
// CHECK:           %[[V:.*]] = nest.load %idx[%i]
// CHECK-NEXT:      %[[K:.*]] = arith.index_cast %[[V]] : i64 to index
// CHECK-NEXT:      %[[C:.*]] = nest.index %[[K]] of 64 axis 0 of "x"
// CHECK-NEXT:      nest.load %x[%[[C]]]
func.func @taken(%x: memref<64xf64>, %idx: memref<96xi64>, %y: memref<96xf64> {nest.role = "out"}) {
  %c64 = arith.constant 64 : i64
  %low = arith.constant -64 : i64
  %c0 = arith.constant 0 : i64
  %no = arith.constant 0 : i8
  %or = nest.alloc "or" : memref<i8>
  nest.store "or" %no, %or[] : memref<i8>
  nest.for "i" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %a = arith.cmpi slt, %v, %low : i64
    %b = arith.cmpi sge, %v, %c64 : i64
    %o = arith.ori %a, %b : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %f = nest.load %or[] : memref<i8>
  %c = arith.cmpi ne, %f, %no : i8
  nest.if %c {
    nest.for "i.1" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %n = nest.index %k of 64 axis 0 of "x"
    }
  }
  nest.for "i.2" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %s = arith.cmpi slt, %v, %c0 : i64
    %w = arith.addi %v, %c64 : i64
    %u = arith.select %s, %w, %v : i64
    %k = arith.index_cast %u : i64 to index
    %a = nest.load %x[%k] : memref<64xf64>
    nest.store "y" %a, %y[%i] : memref<96xf64>
  }
  func.return
}

// Looked up twice, and checked each time: the nests check what they look up, and nothing is left of the second check.
// CHECK-LABEL: func.func @twice
// CHECK-NOT:     nest.if
// CHECK:         nest.index %{{.*}} of 64 axis 0 of "x"
// CHECK:         nest.store "y"
// CHECK:         nest.index %{{.*}} of 64 axis 0 of "x"
// CHECK:         nest.store "z"
// CHECK-NOT:     nest.index
func.func @twice(%x: memref<64xf64>, %idx: memref<96xi64>, %y: memref<96xf64> {nest.role = "out"}, %z: memref<96xf64> {nest.role = "out"}) {
  %c64 = arith.constant 64 : i64
  %low = arith.constant -64 : i64
  %c0 = arith.constant 0 : i64
  %no = arith.constant 0 : i8
  %or = nest.alloc "or" : memref<i8>
  nest.store "or" %no, %or[] : memref<i8>
  nest.for "i" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %a = arith.cmpi slt, %v, %low : i64
    %b = arith.cmpi sge, %v, %c64 : i64
    %o = arith.ori %a, %b : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %f = nest.load %or[] : memref<i8>
  %c = arith.cmpi ne, %f, %no : i8
  nest.if %c {
    nest.for "i.1" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %n = nest.index %k of 64 axis 0 of "x"
    }
  }
  nest.for "i.2" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %s = arith.cmpi slt, %v, %c0 : i64
    %w = arith.addi %v, %c64 : i64
    %u = arith.select %s, %w, %v : i64
    %k = arith.index_cast %u : i64 to index
    %a = nest.load %x[%k] : memref<64xf64>
    nest.store "y" %a, %y[%i] : memref<96xf64>
  }
  %or2 = nest.alloc "or" : memref<i8>
  nest.store "or" %no, %or2[] : memref<i8>
  nest.for "i" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %a = arith.cmpi slt, %v, %low : i64
    %b = arith.cmpi sge, %v, %c64 : i64
    %o = arith.ori %a, %b : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or2[] : memref<i8>
  }
  %f2 = nest.load %or2[] : memref<i8>
  %c2 = arith.cmpi ne, %f2, %no : i8
  nest.if %c2 {
    nest.for "i.1" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %n = nest.index %k of 64 axis 0 of "x"
    }
  }
  nest.for "i.3" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %s = arith.cmpi slt, %v, %c0 : i64
    %w = arith.addi %v, %c64 : i64
    %u = arith.select %s, %w, %v : i64
    %k = arith.index_cast %u : i64 to index
    %a = nest.load %x[%k] : memref<64xf64>
    nest.store "z" %a, %z[%i] : memref<96xf64>
  }
  func.return
}

// What it was looked up for is not computed: it is not checked.
// CHECK-LABEL: func.func @nobody
// CHECK-NOT:     nest.index
// CHECK:         func.return
func.func @nobody(%x: memref<64xf64>, %idx: memref<96xi64>, %y: memref<96xf64> {nest.role = "out"}) {
  %zero = arith.constant 0.0 : f64
  %c64 = arith.constant 64 : i64
  %low = arith.constant -64 : i64
  %c0 = arith.constant 0 : i64
  %no = arith.constant 0 : i8
  %or = nest.alloc "or" : memref<i8>
  nest.store "or" %no, %or[] : memref<i8>
  nest.for "i" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %a = arith.cmpi slt, %v, %low : i64
    %b = arith.cmpi sge, %v, %c64 : i64
    %o = arith.ori %a, %b : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %f = nest.load %or[] : memref<i8>
  %c = arith.cmpi ne, %f, %no : i8
  nest.if %c {
    nest.for "i.1" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %n = nest.index %k of 64 axis 0 of "x"
    }
  }
  nest.for "i.2" %i = 0 to 96 {
    nest.store "y" %zero, %y[%i] : memref<96xf64>
  }
  func.return
}

// Integers that are made of the indices are kept in a buffer, and may be looked up from there: the check stays.
// CHECK-LABEL: func.func @kept
// CHECK:         nest.if
// CHECK:           nest.index %{{.*}} of 64 axis 0 of "x"
func.func @kept(%x: memref<64xf64>, %idx: memref<96xi64>, %y: memref<96xf64> {nest.role = "out"}) {
  %c64 = arith.constant 64 : i64
  %low = arith.constant -64 : i64
  %c0 = arith.constant 0 : i64
  %no = arith.constant 0 : i8
  %or = nest.alloc "or" : memref<i8>
  nest.store "or" %no, %or[] : memref<i8>
  nest.for "i" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %a = arith.cmpi slt, %v, %low : i64
    %b = arith.cmpi sge, %v, %c64 : i64
    %o = arith.ori %a, %b : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %f = nest.load %or[] : memref<i8>
  %c = arith.cmpi ne, %f, %no : i8
  nest.if %c {
    nest.for "i.1" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %n = nest.index %k of 64 axis 0 of "x"
    }
  }
  %t = nest.alloc "t" : memref<96xi64>
  nest.for "i.2" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %w = arith.addi %v, %c64 : i64
    nest.store "t" %w, %t[%i] : memref<96xi64>
  }
  nest.for "i.3" %i = 0 to 96 {
    %w = nest.load %t[%i] : memref<96xi64>
    %k = arith.index_cast %w : i64 to index
    %a = nest.load %x[%k] : memref<64xf64>
    nest.store "y" %a, %y[%i] : memref<96xf64>
  }
  func.return
}

// A table of constants that are not negative is not counted from the end: its elements are indices as they are.
// CHECK-LABEL: func.func @of_a_table
// CHECK-NOT:     nest.if
// CHECK:         nest.for "i.2" %i = 0 to 2 {
// CHECK:           %[[V:.*]] = nest.load %t[%i]
// CHECK-NEXT:      %[[K:.*]] = arith.index_cast %[[V]] : i64 to index
// CHECK-NEXT:      %[[C:.*]] = nest.index %[[K]] of 64 axis 0 of "x"
// CHECK-NEXT:      nest.load %x[%[[C]]]
func.func @of_a_table(%x: memref<64xf64>, %y: memref<2xf64> {nest.role = "out"}) {
  %c64 = arith.constant 64 : i64
  %low = arith.constant -64 : i64
  %no = arith.constant 0 : i8
  %c1 = arith.constant 1 : i64
  %c5 = arith.constant 5 : i64
  %t = nest.alloc "t" : memref<2xi64>
  nest.store "t" %c1, %t[0] : memref<2xi64>
  nest.store "t" %c5, %t[1] : memref<2xi64>
  %or = nest.alloc "or" : memref<i8>
  nest.store "or" %no, %or[] : memref<i8>
  nest.for "i" %i = 0 to 2 {
    %v = nest.load %t[%i] : memref<2xi64>
    %a = arith.cmpi slt, %v, %low : i64
    %b = arith.cmpi sge, %v, %c64 : i64
    %o = arith.ori %a, %b : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %f = nest.load %or[] : memref<i8>
  %c = arith.cmpi ne, %f, %no : i8
  nest.if %c {
    nest.for "i.1" %i = 0 to 2 {
      %v = nest.load %t[%i] : memref<2xi64>
      %k = arith.index_cast %v : i64 to index
      %0 = nest.index %k of 64 axis 0 of "x"
    }
  }
  nest.for "i.2" %i = 0 to 2 {
    %v = nest.load %t[%i] : memref<2xi64>
    %k = arith.index_cast %v : i64 to index
    %a = nest.load %x[%k] : memref<64xf64>
    nest.store "y" %a, %y[%i] : memref<2xf64>
  }
  func.return
}
