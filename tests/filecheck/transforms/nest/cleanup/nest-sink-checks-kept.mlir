// RUN: opt-tool %s -p nest-sink-checks --split-input-file --verify-diagnostics | filecheck %s
// Checks that stay are nests of their own, of which the remark says why; no pass asks before whether any index is outside.

// The caller would see rows that were written before the error.
// CHECK-LABEL: @changes_an_argument
// CHECK-NOT: nest.accumulate
// CHECK: nest.for "i.1"
// CHECK: nest.index
// CHECK-NOT: nest.lookup
func.func @changes_an_argument(%x: memref<64x256xf32>, %idx: memref<96xi64>, %out: memref<96x256xf32> {nest.role = "inout"}) {
  %n = arith.constant 64 : i64
  %low = arith.constant -64 : i64
  %or = nest.alloc "or" : memref<i8>
  %false = arith.constant false
  %b = arith.extui %false : i1 to i8
  nest.store "or" %b, %or[] : memref<i8>
  nest.for "i" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %l = arith.cmpi slt, %v, %low : i64
    %h = arith.cmpi sge, %v, %n : i64
    %o = arith.ori %l, %h : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %r = nest.load %or[] : memref<i8>
  %zero = arith.constant 0 : i8
  %c = arith.cmpi ne, %r, %zero : i8
  nest.if %c {
    // expected-remark @below {{checked by a kernel of their own: the function changes an argument, which must stay as it was when an index is outside}}
    nest.for "i.1" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %0 = nest.index %k of 64 axis 0 of "x"
    }
  }
  %z = arith.constant 0 : i64
  nest.for "i.2" %i = 0 to 96 {
    nest.for "j" %j = 0 to 256 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %s = arith.cmpi slt, %v, %z : i64
      %e = arith.addi %v, %n : i64
      %w = arith.select %s, %e, %v : i64
      %k = arith.index_cast %w : i64 to index
      %a = nest.load %x[%k, %j] : memref<64x256xf32>
      nest.store %a, %out[%i, %j] : memref<96x256xf32>
    }
  }
  func.return
}

// -----

// Indices that no row needs are checked all the same.
// CHECK-LABEL: @looks_at_half
// CHECK-NOT: nest.accumulate
// CHECK: nest.for "i.1"
// CHECK: nest.index
// CHECK-NOT: nest.lookup
func.func @looks_at_half(%x: memref<64x256xf32>, %idx: memref<96xi64>, %out: memref<96x256xf32> {nest.role = "out"}) {
  %n = arith.constant 64 : i64
  %low = arith.constant -64 : i64
  %or = nest.alloc "or" : memref<i8>
  %false = arith.constant false
  %b = arith.extui %false : i1 to i8
  nest.store "or" %b, %or[] : memref<i8>
  nest.for "i" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %l = arith.cmpi slt, %v, %low : i64
    %h = arith.cmpi sge, %v, %n : i64
    %o = arith.ori %l, %h : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %r = nest.load %or[] : memref<i8>
  %zero = arith.constant 0 : i8
  %c = arith.cmpi ne, %r, %zero : i8
  nest.if %c {
    // expected-remark @below {{checked by a kernel of their own: they are used in another way as well}}
    nest.for "i.1" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %0 = nest.index %k of 64 axis 0 of "x"
    }
  }
  %z = arith.constant 0 : i64
  nest.for "i.2" %i = 0 to 48 {
    nest.for "j" %j = 0 to 256 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %s = arith.cmpi slt, %v, %z : i64
      %e = arith.addi %v, %n : i64
      %w = arith.select %s, %e, %v : i64
      %k = arith.index_cast %w : i64 to index
      %a = nest.load %x[%k, %j] : memref<64x256xf32>
      nest.store %a, %out[%i, %j] : memref<96x256xf32>
    }
  }
  func.return
}

// -----

// Rows of no columns would look at no index: how many there are is a number of the caller.
// CHECK-LABEL: @may_be_empty
// CHECK-NOT: nest.accumulate
// CHECK: nest.for "i.1"
// CHECK: nest.index
// CHECK-NOT: nest.lookup
func.func @may_be_empty(%m: index, %x: memref<64x?xf32>, %idx: memref<96xi64>, %out: memref<96x?xf32> {nest.role = "out"}) {
  %n = arith.constant 64 : i64
  %low = arith.constant -64 : i64
  %or = nest.alloc "or" : memref<i8>
  %false = arith.constant false
  %b = arith.extui %false : i1 to i8
  nest.store "or" %b, %or[] : memref<i8>
  nest.for "i" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %l = arith.cmpi slt, %v, %low : i64
    %h = arith.cmpi sge, %v, %n : i64
    %o = arith.ori %l, %h : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %r = nest.load %or[] : memref<i8>
  %zero = arith.constant 0 : i8
  %c = arith.cmpi ne, %r, %zero : i8
  nest.if %c {
    // expected-remark @below {{checked by a kernel of their own: no nest that uses them is known to look at all of them}}
    nest.for "i.1" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %0 = nest.index %k of 64 axis 0 of "x"
    }
  }
  %z = arith.constant 0 : i64
  nest.for "i.2" %i = 0 to 96 {
    nest.for "j" %j = 0 to %m {
      %v = nest.load %idx[%i] : memref<96xi64>
      %s = arith.cmpi slt, %v, %z : i64
      %e = arith.addi %v, %n : i64
      %w = arith.select %s, %e, %v : i64
      %k = arith.index_cast %w : i64 to index
      %a = nest.load %x[%k, %j] : memref<64x?xf32>
      nest.store %a, %out[%i, %j] : memref<96x?xf32>
    }
  }
  func.return
}

// -----

// Rows that nobody reads might never be computed.
// CHECK-LABEL: @keeps_half
// CHECK-NOT: nest.accumulate
// CHECK: nest.for "i.1"
// CHECK: nest.index
// CHECK-NOT: nest.lookup
func.func @keeps_half(%x: memref<64x256xf32>, %idx: memref<96xi64>, %out: memref<96x256xf32> {nest.role = "out"}) {
  %n = arith.constant 64 : i64
  %low = arith.constant -64 : i64
  %or = nest.alloc "or" : memref<i8>
  %false = arith.constant false
  %b = arith.extui %false : i1 to i8
  nest.store "or" %b, %or[] : memref<i8>
  nest.for "i" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %l = arith.cmpi slt, %v, %low : i64
    %h = arith.cmpi sge, %v, %n : i64
    %o = arith.ori %l, %h : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %r = nest.load %or[] : memref<i8>
  %zero = arith.constant 0 : i8
  %c = arith.cmpi ne, %r, %zero : i8
  nest.if %c {
    // expected-remark @below {{checked by a kernel of their own: no nest that uses them is known to look at all of them}}
    nest.for "i.1" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %0 = nest.index %k of 64 axis 0 of "x"
    }
  }
  %z = arith.constant 0 : i64
  %t = nest.alloc "t" : memref<96x256xf32>
  nest.for "i.2" %i = 0 to 96 {
    nest.for "j" %j = 0 to 256 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %s = arith.cmpi slt, %v, %z : i64
      %e = arith.addi %v, %n : i64
      %w = arith.select %s, %e, %v : i64
      %k = arith.index_cast %w : i64 to index
      %a = nest.load %x[%k, %j] : memref<64x256xf32>
      nest.store %a, %t[%i, %j] : memref<96x256xf32>
    }
  }
  nest.for "k" %k = 0 to 48 {
    nest.for "l" %l = 0 to 256 {
      %a = nest.load %t[%k, %l] : memref<96x256xf32>
      nest.store %a, %out[%k, %l] : memref<96x256xf32>
    }
  }
  func.return
}

// -----

// The first error of the program is the one that is raised.
// CHECK-LABEL: @may_fail_between
// CHECK-NOT: nest.accumulate
// CHECK: nest.for "i.1"
// CHECK: nest.index
// CHECK-NOT: nest.lookup
func.func @may_fail_between(%x: memref<64x256xf32>, %idx: memref<96xi64>, %out: memref<96x256xf32> {nest.role = "out"}) {
  %n = arith.constant 64 : i64
  %low = arith.constant -64 : i64
  %or = nest.alloc "or" : memref<i8>
  %false = arith.constant false
  %b = arith.extui %false : i1 to i8
  nest.store "or" %b, %or[] : memref<i8>
  nest.for "i" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %l = arith.cmpi slt, %v, %low : i64
    %h = arith.cmpi sge, %v, %n : i64
    %o = arith.ori %l, %h : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %r = nest.load %or[] : memref<i8>
  %zero = arith.constant 0 : i8
  %c = arith.cmpi ne, %r, %zero : i8
  nest.if %c {
    // expected-remark @below {{checked by a kernel of their own: something that can fail or has an effect is before the nest that uses them}}
    nest.for "i.1" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %0 = nest.index %k of 64 axis 0 of "x"
    }
  }
  %z = arith.constant 0 : i64
  %ok = arith.cmpi eq, %z, %n : i64
  cf.assert %ok, "no" {nestor.kind = "AssertionError"}
  nest.for "i.2" %i = 0 to 96 {
    nest.for "j" %j = 0 to 256 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %s = arith.cmpi slt, %v, %z : i64
      %e = arith.addi %v, %n : i64
      %w = arith.select %s, %e, %v : i64
      %k = arith.index_cast %w : i64 to index
      %a = nest.load %x[%k, %j] : memref<64x256xf32>
      nest.store %a, %out[%i, %j] : memref<96x256xf32>
    }
  }
  func.return
}

// -----

// A test of something else than the bounds is left as it is.
// CHECK-LABEL: @other_bound
// CHECK: nest.accumulate
// CHECK: nest.if
// CHECK: nest.index
// CHECK-NOT: nest.lookup
func.func @other_bound(%x: memref<64x256xf32>, %idx: memref<96xi64>, %out: memref<96x256xf32> {nest.role = "out"}) {
  %n = arith.constant 64 : i64
  %low = arith.constant -63 : i64
  %or = nest.alloc "or" : memref<i8>
  %false = arith.constant false
  %b = arith.extui %false : i1 to i8
  nest.store "or" %b, %or[] : memref<i8>
  nest.for "i" %i = 0 to 96 {
    %v = nest.load %idx[%i] : memref<96xi64>
    %l = arith.cmpi slt, %v, %low : i64
    %h = arith.cmpi sge, %v, %n : i64
    %o = arith.ori %l, %h : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %r = nest.load %or[] : memref<i8>
  %zero = arith.constant 0 : i8
  %c = arith.cmpi ne, %r, %zero : i8
  nest.if %c {
    nest.for "i.1" %i = 0 to 96 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %k = arith.index_cast %v : i64 to index
      %0 = nest.index %k of 64 axis 0 of "x"
    }
  }
  %z = arith.constant 0 : i64
  nest.for "i.2" %i = 0 to 96 {
    nest.for "j" %j = 0 to 256 {
      %v = nest.load %idx[%i] : memref<96xi64>
      %s = arith.cmpi slt, %v, %z : i64
      %e = arith.addi %v, %n : i64
      %w = arith.select %s, %e, %v : i64
      %k = arith.index_cast %w : i64 to index
      %a = nest.load %x[%k, %j] : memref<64x256xf32>
      nest.store %a, %out[%i, %j] : memref<96x256xf32>
    }
  }
  func.return
}

