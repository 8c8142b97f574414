// A nest that checks its own indices and does nothing but update and store looks them up instead.
// RUN: opt-tool %s -p nest-sink-checks --split-input-file | filecheck %s

// CHECK-LABEL: @histogram
// CHECK: %[[K:.*]] = arith.index_cast %k : index to i64
// CHECK: %[[N:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: %at = nest.lookup %[[K]] of %[[N]] axis 0 of "h"
// CHECK: nest.accumulate "h" add %one, %h[%at]
func.func @histogram(%b: memref<8xi64>, %h: memref<16xi32> {nest.role = "out"}) {
  %one = arith.constant 1 : i32
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %v : i64 to index
    %at = nest.index %k of 16 axis 0 of "h"
    nest.accumulate "h" add %one, %h[%at] : memref<16xi32>
  }
  func.return
}

// -----

// The caller would see what was written before the error.
// CHECK-LABEL: @argument
// CHECK-NOT: nest.lookup
func.func @argument(%b: memref<8xi64>, %h: memref<16xi32> {nest.role = "inout"}) {
  %one = arith.constant 1 : i32
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %v : i64 to index
    %at = nest.index %k of 16 axis 0 of "h"
    nest.accumulate "h" add %one, %h[%at] : memref<16xi32>
  }
  func.return
}

// -----

// The updates have an order, or read what they write: one thread does them, and stops at the error.
// CHECK-LABEL: @ordered
// CHECK-NOT: nest.lookup
func.func @ordered(%b: memref<8xi64>, %x: memref<8xf32>, %h: memref<16xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %v : i64 to index
    %at = nest.index %k of 16 axis 0 of "h"
    %a = nest.load %x[%i] : memref<8xf32>
    nest.accumulate "h" add %a, %h[%at] order(sequential) : memref<16xf32>
  }
  func.return
}

// -----

// CHECK-LABEL: @reads
// CHECK-NOT: nest.lookup
func.func @reads(%b: memref<8xi64>, %h: memref<16xf32> {nest.role = "out"}) {
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %v : i64 to index
    %at = nest.index %k of 16 axis 0 of "h"
    %a = nest.load %h[%i] : memref<16xf32>
    nest.store "h" %a, %h[%at] : memref<16xf32>
  }
  func.return
}

// -----

// An index that is checked where nothing is updated would not be looked at.
// CHECK-LABEL: @masked
// CHECK-NOT: nest.lookup
func.func @masked(%b: memref<8xi64>, %h: memref<16xi32> {nest.role = "out"}) {
  %one = arith.constant 1 : i32
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %b[%i] : memref<8xi64>
    %k = arith.index_cast %v : i64 to index
    %at = nest.index %k of 16 axis 0 of "h"
    nest.accumulate "h" add %one, %h[%at] where (%i >= 3) : memref<16xi32>
  }
  func.return
}

// -----

// CHECK-LABEL: @asserts
// CHECK-NOT: nest.lookup
func.func @asserts(%b: memref<8xi64>, %h: memref<16xi32> {nest.role = "out"}) {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i64
  nest.for "i" %i = 0 to 8 {
    %v = nest.load %b[%i] : memref<8xi64>
    %fine = arith.cmpi sge, %v, %zero : i64
    cf.assert %fine, "AssertionError: negative"
    %k = arith.index_cast %v : i64 to index
    %at = nest.index %k of 16 axis 0 of "h"
    nest.accumulate "h" add %one, %h[%at] : memref<16xi32>
  }
  func.return
}
