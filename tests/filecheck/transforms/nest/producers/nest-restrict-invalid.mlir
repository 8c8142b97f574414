// What cannot be restricted says why, and nothing is changed.
// RUN: not opt-tool %s -p 'nest-restrict{func=both result=z axis=0}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not opt-tool %s -p 'nest-restrict{func=both axis=0}' 2>&1 | filecheck %s --check-prefix=WHICH
// RUN: not opt-tool %s -p 'nest-restrict{func=both result=y axis=2}' 2>&1 | filecheck %s --check-prefix=AXIS
// RUN: not opt-tool %s -p 'nest-restrict{func=both result=w axis=0}' 2>&1 | filecheck %s --check-prefix=UNWRITTEN
// RUN: not opt-tool %s -p 'nest-restrict{func=both update=i}' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not opt-tool %s -p 'nest-restrict{func=updated axis=0}' 2>&1 | filecheck %s --check-prefix=INOUT
// RUN: not opt-tool %s -p 'nest-restrict{func=from_five update=i}' 2>&1 | filecheck %s --check-prefix=START
// RUN: not opt-tool %s -p 'nest-restrict{func=from_x update=i}' 2>&1 | filecheck %s --check-prefix=WRITES
// RUN: not opt-tool %s -p 'nest-restrict{func=never_set update=i}' 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not opt-tool %s -p 'nest-restrict{func=running axis=0 reductions=i}' 2>&1 | filecheck %s --check-prefix=RUNNING
// RUN: not opt-tool %s -p 'nest-restrict{func=both running=i axis=0}' 2>&1 | filecheck %s --check-prefix=NO-SCAN
// RUN: not opt-tool %s -p 'nest-restrict{func=sum running=i axis=0}' 2>&1 | filecheck %s --check-prefix=NO-RESULT
// RUN: not opt-tool %s -p 'nest-restrict{func=some running=i axis=0}' 2>&1 | filecheck %s --check-prefix=SOME
// RUN: not opt-tool %s -p 'nest-restrict{func=overlapping axis=0}' 2>&1 | filecheck %s --check-prefix=OVERLAP

// NAME: error: there is no result "z"
// NAME: help: results are "y", "w"
// WHICH: error: no result is named
// AXIS: error: there is no axis 2
// AXIS: help: the result has 1 of them, from 0 on
// UNWRITTEN: error: cannot restrict @both: nothing writes "w"
// NO-SCAN: error: the loop "i" makes no reductions
// NONE: error: the loop "i" makes no reductions
// NONE: help: name one that makes one
func.func @both(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]},
                %w: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.store "y" %a, %y[%i] : memref<?xf64>
  }
  func.return
}

// INOUT: error: cannot restrict @updated: "y" is read and written, and not only in the box
func.func @updated(%y: memref<?xf64> {nest.role = "inout", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf64>
  nest.for "i" %i = 0 to %n - 1 {
    %a = nest.load %y[%i + 1] : memref<?xf64>
    nest.store "y" %a, %y[%i] : memref<?xf64>
  }
  func.return
}

// Five would be added once for each chunk.
// START: error: cannot restrict @from_five: it starts from another value than the neutral one
func.func @from_five(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<f64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %five = arith.constant 5.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  nest.store "y" %five, %y[] : memref<f64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.accumulate "y" add %a, %y[] : memref<f64>
  }
  func.return
}

// WRITES: error: cannot restrict @from_x: it writes what is reduced in chunks
func.func @from_x(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<f64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %first = nest.load %x[0] : memref<?xf64>
  nest.store "y" %first, %y[] : memref<f64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.accumulate "y" add %a, %y[] : memref<f64>
  }
  func.return
}

// NUMBER: error: cannot restrict @never_set: what it starts from is not one number
func.func @never_set(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<f64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.accumulate "y" add %a, %y[] : memref<f64>
  }
  func.return
}

// The sum is read while it is not complete.
// RUNNING: error: cannot restrict @running: it reads a reduction that is not complete
func.func @running(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %s = nest.alloc "s" : memref<f64>
  nest.store "s" %zero, %s[] : memref<f64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.accumulate "s" add %a, %s[] : memref<f64>
    %b = nest.load %s[] : memref<f64>
    nest.store "y" %b, %y[%i] : memref<?xf64>
  }
  func.return
}

// OVERLAP: error: cannot restrict @overlapping: the argument "x" may share memory with another one
func.func @overlapping(%x: memref<?xf64> {nest.dims = ["n"], nest.alias_set = 0 : i64},
                       %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"], nest.alias_set = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.store "y" %a, %y[%i] : memref<?xf64>
  }
  func.return
}

// NO-RESULT: error: the loop "i" stores no results so far
// NO-RESULT: help: name one that stores one
func.func @sum(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<f64> {nest.role = "out"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  nest.store "y" %zero, %y[] : memref<f64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.accumulate "y" add %a, %y[] : memref<f64>
  }
  func.return
}

// The first element is not a result so far.
// SOME: error: cannot restrict @some: it writes what is computed in chunks
func.func @some(%x: memref<?xf64> {nest.dims = ["n"]}, %y: memref<?xf64> {nest.role = "out", nest.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %s = nest.alloc "s" : memref<f64>
  nest.store "s" %zero, %s[] : memref<f64>
  nest.for "i" %i = 0 to %n {
    %a = nest.load %x[%i] : memref<?xf64>
    nest.accumulate "s" add %a, %s[] : memref<f64>
    %b = nest.load %s[] : memref<f64>
    nest.store "y" %b, %y[%i] : memref<?xf64>
  }
  nest.store "y" %zero, %y[0] : memref<?xf64>
  func.return
}
