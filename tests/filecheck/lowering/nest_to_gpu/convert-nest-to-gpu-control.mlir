// Loops and branches that depend on an element of a buffer: the host reads it back where there are nests to launch inside.
// RUN: opt-tool %s -p nest-schedule-cuda,convert-nest-to-gpu --split-input-file | filecheck %s

// CHECK-LABEL: func.func @halve
// CHECK: scf.while () : () -> () {
// CHECK:   [[X:%.*]] = memref.load %m[] : memref<f32>
// CHECK:   [[C:%.*]] = arith.cmpf ogt, [[X]]
// CHECK:   scf.condition([[C]])
// CHECK: } do {
// CHECK:   gpu.launch_func
// CHECK:   scf.yield
// CHECK: }
func.func @halve(%x: memref<?xf32> {nest.role = "inout"}, %m: memref<f32> {nest.role = "inout"}) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.while () : () -> () {
    %a = nest.load %m[] : memref<f32>
    %c = arith.cmpf ogt, %a, %one : f32
    scf.condition(%c)
  } do {
    nest.for "i" %i = 0 to %n {
      %v = nest.load %x[%i] : memref<?xf32>
      %h = arith.mulf %v, %half : f32
      nest.store "x" %h, %x[%i] : memref<?xf32>
    }
    %a = nest.load %m[] : memref<f32>
    %h = arith.mulf %a, %half : f32
    nest.store "m" %h, %m[] : memref<f32>
    scf.yield
  }
  func.return
}

// -----

// A loop over numbers only is one thread of one kernel.
// CHECK-LABEL: func.func @newton
// CHECK-NOT: scf.while
// CHECK: gpu.launch_func
// CHECK: gpu.func @newton
// CHECK: scf.while
func.func @newton(%m: memref<f32> {nest.role = "inout"}) {
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  scf.while () : () -> () {
    %a = nest.load %m[] : memref<f32>
    %c = arith.cmpf ogt, %a, %one : f32
    scf.condition(%c)
  } do {
    %a = nest.load %m[] : memref<f32>
    %h = arith.mulf %a, %half : f32
    nest.store "m" %h, %m[] : memref<f32>
    scf.yield
  }
  func.return
}

// -----

// A branch around a long nest is the host's as well.
// CHECK-LABEL: func.func @branch
// CHECK: [[F:%.*]] = memref.load %flag[] : memref<i8>
// CHECK: [[C:%.*]] = arith.cmpi ne, [[F]]
// CHECK: scf.if [[C]] {
// CHECK:   gpu.launch_func
func.func @branch(%x: memref<?xf32> {nest.role = "inout"}, %flag: memref<i8>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
  %n = memref.dim %x, %c0 : memref<?xf32>
  %f = nest.load %flag[] : memref<i8>
  %c = arith.cmpi ne, %f, %zero : i8
  nest.if %c {
    nest.for "i" %i = 0 to %n {
      %v = nest.load %x[%i] : memref<?xf32>
      %h = arith.addf %v, %v : f32
      nest.store "x" %h, %x[%i] : memref<?xf32>
    }
  }
  func.return
}

// -----

// What a branch reads back from the device is known in the branch only: the next one reads it again.
// CHECK-LABEL: func.func @read_in_two_branches
// CHECK: scf.if %first {
// CHECK:   [[A:%.*]] = memref.load %m[] : memref<f32>
// CHECK:   arith.cmpf ogt, [[A]]
// CHECK: }
// CHECK: scf.if %second {
// CHECK:   [[B:%.*]] = memref.load %m[] : memref<f32>
// CHECK:   arith.cmpf ogt, [[B]]
// CHECK: }
func.func @read_in_two_branches(%x: memref<?xf32> {nest.role = "inout"}, %m: memref<f32>, %first: i1, %second: i1) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = nest.load %m[] : memref<f32>
  %c = arith.cmpf ogt, %a, %one : f32
  nest.if %first {
    nest.if %c {
      nest.for "i" %i = 0 to %n {
        nest.store "x" %one, %x[%i] : memref<?xf32>
      }
    }
  }
  nest.if %second {
    nest.if %c {
      nest.for "i" %i = 0 to %n {
        nest.store "x" %one, %x[%i] : memref<?xf32>
      }
    }
  }
  func.return
}
