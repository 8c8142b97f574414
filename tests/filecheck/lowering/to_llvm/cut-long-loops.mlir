// A loop that may run long is cut into pieces, and between them Python's signals are handled; short loops stay as they are.
// RUN: opt-tool %s -p cut-long-loops | filecheck %s

// CHECK-LABEL: func.func @long
// CHECK: [[K:%\S+]] = arith.constant 524288 : index
// CHECK: [[W:%\S+]] = arith.muli [[K]]
// CHECK: scf.for %piece = {{.*}} step [[W]] iter_args
// CHECK: arith.cmpi sgt, %piece
// CHECK-NEXT: scf.if
// CHECK: func.call @nestor_poll
// CHECK: cf.assert {{.*}}nestor.kind = "Interrupted"
// CHECK: [[E:%\S+]] = arith.minsi
// CHECK: scf.for {{.*}} = %piece to [[E]]
func.func @long(%n: index, %a: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a) -> (f64) {
    %t = arith.addf %s, %a : f64
    scf.yield %t : f64
  }
  func.return %r : f64
}

// CHECK-LABEL: func.func @short
// CHECK-NOT: nestor_poll
// CHECK: func.return
func.func @short(%x: memref<100x100xf64>, %a: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c100 step %c1 {
    scf.for %j = %c0 to %c100 step %c1 {
      memref.store %a, %x[%i, %j] : memref<100x100xf64>
    }
  }
  func.return
}

// The work of an iteration is a number of the run; nobody asks inside of the parallel loop.
// CHECK-LABEL: func.func @rows
// CHECK: arith.divsi
// CHECK: scf.for %piece
// CHECK: func.call @nestor_poll
// CHECK: scf.parallel
// CHECK-NOT: nestor_poll
// CHECK: func.return
func.func @rows(%x: memref<?x?xf64>, %n: index, %m: index, %a: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    scf.for %j = %c0 to %m step %c1 {
      memref.store %a, %x[%i, %j] : memref<?x?xf64>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// How often the inner loops run is computed from what is outside: the quotient again, and the least of several bounds.
// CHECK-LABEL: func.func @pieces_of_rows
// CHECK: [[AGAIN:%\S+]] = arith.floordivsi %m, {{%\S+}} : index
// CHECK-NEXT: [[TRIPS:%\S+]] = arith.subi [[AGAIN]], %c0 : index
// CHECK-NEXT: arith.muli {{%\S+}}, [[TRIPS]] : index
// CHECK: arith.constant 16777216 : index
// CHECK: scf.for
// CHECK: scf.parallel
// CHECK-LABEL: func.func @at_most
// CHECK-NEXT: %c0 = arith.constant 0
// CHECK-NOT: call @nestor_poll
func.func @pieces_of_rows(%x: memref<?x?xf64>, %n: index, %m: index, %a: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %c64 = arith.constant 64 : index
    %o = arith.floordivsi %m, %c64 : index
    scf.for %j = %c0 to %o step %c1 {
      memref.store %a, %x[%i, %j] : memref<?x?xf64>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

func.func @at_most(%x: memref<?x?xf64>, %a: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32768 = arith.constant 32768 : index
  scf.for %i = %c0 to %c32768 step %c1 {
    %n = arith.index_cast %i : index to i64
    %m = arith.index_cast %n : i64 to index
    %o = arith.minsi %m, %c2 : index
    scf.for %j = %c0 to %o step %c1 {
      memref.store %a, %x[%i, %j] : memref<?x?xf64>
    }
  }
  func.return
}

// A while counts its rounds.
// CHECK-LABEL: func.func @rounds
// CHECK: scf.while
// CHECK: scf.condition({{.*}}) {{.*}}, %round
// CHECK: arith.andi
// CHECK: func.call @nestor_poll
// CHECK: scf.yield
func.func @rounds(%n: i64) -> i64 {
  %one = arith.constant 1 : i64
  %r = scf.while (%k = %one) : (i64) -> i64 {
    %c = arith.cmpi slt, %k, %n : i64
    scf.condition(%c) %k : i64
  } do {
  ^bb0(%k: i64):
    %next = arith.addi %k, %one : i64
    scf.yield %next : i64
  }
  func.return %r : i64
}
// CHECK: func.func private @nestor_poll(i1) -> i1
