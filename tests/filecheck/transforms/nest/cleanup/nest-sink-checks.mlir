// RUN: opt-tool %s -p nest-sink-checks --split-input-file | filecheck %s
// Indices found in an array are checked by the nest that uses them, where the function changes no argument.

// CHECK-LABEL: @rows
// CHECK-NOT: nest.if
// CHECK: nest.for "i.2" [[I:%\S+]] = 0 to 96
// CHECK: [[V:%\S+]] = nest.load %idx{{\[}}[[I]]]
// CHECK-NEXT: [[K:%\S+]] = nest.lookup [[V]] of {{%\S+}} axis 0 of "x"
// CHECK-NEXT: nest.load %x{{\[}}[[K]],
func.func @rows(%x: memref<64x256xf32>, %idx: memref<96xi64>, %out: memref<96x256xf32> {nest.role = "out"}) {
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

// An unknown number of indices, of bytes without a sign: a temporary that a sum reads whole.
// CHECK-LABEL: @sum_of_bytes
// CHECK-NOT: nest.if
// CHECK: [[B:%\S+]] = nest.load %idx
// CHECK: [[V:%\S+]] = arith.extui [[B]]
// CHECK: nest.lookup [[V]] of %end axis 0 of "x"
func.func @sum_of_bytes(%x: memref<?xf32> {nest.dims = ["n"]}, %idx: memref<?xi8> {nest.dims = ["m"]}, %out: memref<f32> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %idx, %c0 : memref<?xi8>
  %end = arith.index_cast %n : index to i64
  %z = arith.constant 0 : i64
  %low = arith.subi %z, %end : i64
  %or = nest.alloc "or" : memref<i8>
  %false = arith.constant false
  %f = arith.extui %false : i1 to i8
  nest.store "or" %f, %or[] : memref<i8>
  nest.for "i" %i = 0 to %m {
    %b = nest.load %idx[%i] : memref<?xi8>
    %v = arith.extui %b : i8 to i64
    %l = arith.cmpi slt, %v, %low : i64
    %h = arith.cmpi sge, %v, %end : i64
    %o = arith.ori %l, %h : i1
    %e = arith.extui %o : i1 to i8
    nest.accumulate "or" or %e, %or[] : memref<i8>
  }
  %r = nest.load %or[] : memref<i8>
  %zero = arith.constant 0 : i8
  %c = arith.cmpi ne, %r, %zero : i8
  nest.if %c {
    nest.for "i.1" %i = 0 to %m {
      %b = nest.load %idx[%i] : memref<?xi8>
      %v = arith.extui %b : i8 to i64
      %k = arith.index_cast %v : i64 to index
      %0 = nest.index %k of %n axis 0 of "x"
    }
  }
  %t = nest.alloc "t"(%m) : memref<?xf32>
  nest.for "i.2" %i = 0 to %m {
    %b = nest.load %idx[%i] : memref<?xi8>
    %v = arith.extui %b : i8 to i64
    %k = arith.index_cast %v : i64 to index
    %a = nest.load %x[%k] : memref<?xf32>
    nest.store "t" %a, %t[%i] : memref<?xf32>
  }
  %nothing = arith.constant 0.0 : f32
  nest.store "sum" %nothing, %out[] : memref<f32>
  nest.for "i.3" %i = 0 to %m {
    %a = nest.load %t[%i] : memref<?xf32>
    nest.accumulate "sum" add %a, %out[] : memref<f32>
  }
  func.return
}
