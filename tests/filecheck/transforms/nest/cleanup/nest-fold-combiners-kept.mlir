// Comparisons that stay: the order of the values is not known, or another one.
// RUN: opt-tool %s -p nest-fold-combiners --split-input-file | filecheck %s

// Places that go down.
// CHECK-LABEL: func.func @backwards
// CHECK:             arith.cmpi slt, %place, %first
func.func @backwards(%x: memref<1024xf32>, %p: memref<i32> {nest.role = "out"}) {
  %least = arith.constant 0xff800000 : f32
  %zero = arith.constant 0 : i32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %least, %m[] : memref<f32>
  nest.store "p" %zero, %p[] : memref<i32>
  nest.for "j" %j = 0 to 1024 {
    %a = nest.load %x[%j] : memref<1024xf32>
    %last = arith.constant 1023 : index
    %back = arith.subi %last, %j : index
    %0 = arith.index_cast %back : index to i64
    %1 = arith.trunci %0 : i64 to i32
    nest.accumulate "p" custom (%a, %1), (%m, %p)[] identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%best: f32, %first: i32, %element: f32, %place: i32):
      %more = arith.cmpf ogt, %element, %best : f32
      %before = arith.cmpi slt, %place, %first : i32
      %takes = arith.ori %more, %before : i1
      %value = arith.select %takes, %element, %best : f32
      %where = arith.select %takes, %place, %first : i32
      nest.yield %value, %where : f32, i32
    } : memref<f32>, memref<i32>
  }
  func.return
}

// -----

// Threads in any order.
// CHECK-LABEL: func.func @at_once
// CHECK:             arith.cmpi slt, %place, %first
func.func @at_once(%x: memref<1024xf32>, %p: memref<i32> {nest.role = "out"}) {
  %least = arith.constant 0xff800000 : f32
  %zero = arith.constant 0 : i32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %least, %m[] : memref<f32>
  nest.store "p" %zero, %p[] : memref<i32>
  nest.for "j" %j = 0 to 1024 parallel {
    %a = nest.load %x[%j] : memref<1024xf32>
    %0 = arith.index_cast %j : index to i64
    %1 = arith.trunci %0 : i64 to i32
    nest.accumulate "p" custom (%a, %1), (%m, %p)[] identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%best: f32, %first: i32, %element: f32, %place: i32):
      %more = arith.cmpf ogt, %element, %best : f32
      %before = arith.cmpi slt, %place, %first : i32
      %takes = arith.ori %more, %before : i1
      %value = arith.select %takes, %element, %best : f32
      %where = arith.select %takes, %place, %first : i32
      nest.yield %value, %where : f32, i32
    } : memref<f32>, memref<i32>
  }
  func.return
}

// -----

// What is there first may be more.
// CHECK-LABEL: func.func @starts_above
// CHECK:             arith.cmpi slt, %place, %first
func.func @starts_above(%x: memref<1024xf32>, %p: memref<i32> {nest.role = "out"}) {
  %least = arith.constant 0xff800000 : f32
  %zero = arith.constant 5 : i32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %least, %m[] : memref<f32>
  nest.store "p" %zero, %p[] : memref<i32>
  nest.for "j" %j = 0 to 1024 {
    %a = nest.load %x[%j] : memref<1024xf32>
    %0 = arith.index_cast %j : index to i64
    %1 = arith.trunci %0 : i64 to i32
    nest.accumulate "p" custom (%a, %1), (%m, %p)[] identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%best: f32, %first: i32, %element: f32, %place: i32):
      %more = arith.cmpf ogt, %element, %best : f32
      %before = arith.cmpi slt, %place, %first : i32
      %takes = arith.ori %more, %before : i1
      %value = arith.select %takes, %element, %best : f32
      %where = arith.select %takes, %place, %first : i32
      nest.yield %value, %where : f32, i32
    } : memref<f32>, memref<i32>
  }
  func.return
}

// -----

// What is there first is not known.
// CHECK-LABEL: func.func @starts_anywhere
// CHECK:             arith.cmpi slt, %place, %first
func.func @starts_anywhere(%x: memref<1024xf32>, %s: memref<i32>, %p: memref<i32> {nest.role = "out"}) {
  %least = arith.constant 0xff800000 : f32
  %zero = nest.load %s[] : memref<i32>
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %least, %m[] : memref<f32>
  nest.store "p" %zero, %p[] : memref<i32>
  nest.for "j" %j = 0 to 1024 {
    %a = nest.load %x[%j] : memref<1024xf32>
    %0 = arith.index_cast %j : index to i64
    %1 = arith.trunci %0 : i64 to i32
    nest.accumulate "p" custom (%a, %1), (%m, %p)[] identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%best: f32, %first: i32, %element: f32, %place: i32):
      %more = arith.cmpf ogt, %element, %best : f32
      %before = arith.cmpi slt, %place, %first : i32
      %takes = arith.ori %more, %before : i1
      %value = arith.select %takes, %element, %best : f32
      %where = arith.select %takes, %place, %first : i32
      nest.yield %value, %where : f32, i32
    } : memref<f32>, memref<i32>
  }
  func.return
}

// -----

// Places that 32 bits may not hold.
// CHECK-LABEL: func.func @may_wrap
// CHECK:             arith.cmpi slt, %place, %first
func.func @may_wrap(%x: memref<?xf32>, %p: memref<i32> {nest.role = "out"}) {
  %least = arith.constant 0xff800000 : f32
  %zero = arith.constant 0 : i32
  %axis = arith.constant 0 : index
  %n = memref.dim %x, %axis : memref<?xf32>
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %least, %m[] : memref<f32>
  nest.store "p" %zero, %p[] : memref<i32>
  nest.for "j" %j = 0 to %n {
    %a = nest.load %x[%j] : memref<?xf32>
    %0 = arith.index_cast %j : index to i64
    %1 = arith.trunci %0 : i64 to i32
    nest.accumulate "p" custom (%a, %1), (%m, %p)[] identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%best: f32, %first: i32, %element: f32, %place: i32):
      %more = arith.cmpf ogt, %element, %best : f32
      %before = arith.cmpi slt, %place, %first : i32
      %takes = arith.ori %more, %before : i1
      %value = arith.select %takes, %element, %best : f32
      %where = arith.select %takes, %place, %first : i32
      nest.yield %value, %where : f32, i32
    } : memref<f32>, memref<i32>
  }
  func.return
}

// -----

// A buffer that the caller reads and writes as well.
// CHECK-LABEL: func.func @of_the_caller
// CHECK:             arith.cmpi slt, %place, %first
func.func @of_the_caller(%x: memref<1024xf32>, %p: memref<i32>) {
  %least = arith.constant 0xff800000 : f32
  %zero = arith.constant 0 : i32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %least, %m[] : memref<f32>
  nest.store "p" %zero, %p[] : memref<i32>
  nest.for "j" %j = 0 to 1024 {
    %a = nest.load %x[%j] : memref<1024xf32>
    %0 = arith.index_cast %j : index to i64
    %1 = arith.trunci %0 : i64 to i32
    nest.accumulate "p" custom (%a, %1), (%m, %p)[] identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%best: f32, %first: i32, %element: f32, %place: i32):
      %more = arith.cmpf ogt, %element, %best : f32
      %before = arith.cmpi slt, %place, %first : i32
      %takes = arith.ori %more, %before : i1
      %value = arith.select %takes, %element, %best : f32
      %where = arith.select %takes, %place, %first : i32
      nest.yield %value, %where : f32, i32
    } : memref<f32>, memref<i32>
  }
  func.return
}

// -----

// Another loop has written to it.
// CHECK-LABEL: func.func @another_writer
// CHECK:             arith.cmpi slt, %place, %first
func.func @another_writer(%x: memref<1024xf32>, %p: memref<i32> {nest.role = "out"}) {
  %least = arith.constant 0xff800000 : f32
  %zero = arith.constant 0 : i32
  nest.for "k" %k = 0 to 8 {
    %large = arith.constant 4000 : i32
    nest.accumulate "p" maxsi %large, %p[] : memref<i32>
  }
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %least, %m[] : memref<f32>
  nest.store "p" %zero, %p[] : memref<i32>
  nest.for "j" %j = 0 to 1024 {
    %a = nest.load %x[%j] : memref<1024xf32>
    %0 = arith.index_cast %j : index to i64
    %1 = arith.trunci %0 : i64 to i32
    nest.accumulate "p" custom (%a, %1), (%m, %p)[] identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%best: f32, %first: i32, %element: f32, %place: i32):
      %more = arith.cmpf ogt, %element, %best : f32
      %before = arith.cmpi slt, %place, %first : i32
      %takes = arith.ori %more, %before : i1
      %value = arith.select %takes, %element, %best : f32
      %where = arith.select %takes, %place, %first : i32
      nest.yield %value, %where : f32, i32
    } : memref<f32>, memref<i32>
  }
  func.return
}

// -----

// A loop before it brings later places.
// CHECK-LABEL: func.func @later_places_first
// CHECK:             arith.cmpi slt, %place, %first
func.func @later_places_first(%x: memref<1024xf32>, %p: memref<i32> {nest.role = "out"}) {
  %least = arith.constant 0xff800000 : f32
  %zero = arith.constant 0 : i32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %least, %m[] : memref<f32>
  nest.store "p" %zero, %p[] : memref<i32>
  nest.for "i" %i = 2000 to 3000 {
    %b = arith.constant 1.0 : f32
    %2 = arith.index_cast %i : index to i64
    %3 = arith.trunci %2 : i64 to i32
    nest.accumulate "p" custom (%b, %3), (%m, %p)[] identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%c: f32, %d: i32, %e: f32, %f: i32):
      %g = arith.cmpf ogt, %e, %c : f32
      %h = arith.select %g, %e, %c : f32
      %k = arith.select %g, %f, %d : i32
      nest.yield %h, %k : f32, i32
    } : memref<f32>, memref<i32>
  }
  nest.for "j" %j = 0 to 1024 {
    %a = nest.load %x[%j] : memref<1024xf32>
    %0 = arith.index_cast %j : index to i64
    %1 = arith.trunci %0 : i64 to i32
    nest.accumulate "p" custom (%a, %1), (%m, %p)[] identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%best: f32, %first: i32, %element: f32, %place: i32):
      %more = arith.cmpf ogt, %element, %best : f32
      %before = arith.cmpi slt, %place, %first : i32
      %takes = arith.ori %more, %before : i1
      %value = arith.select %takes, %element, %best : f32
      %where = arith.select %takes, %place, %first : i32
      nest.yield %value, %where : f32, i32
    } : memref<f32>, memref<i32>
  }
  func.return
}

// -----

// The combiner leaves something else there.
// CHECK-LABEL: func.func @is_changed
// CHECK:             arith.cmpi slt, %place, %first
func.func @is_changed(%x: memref<1024xf32>, %p: memref<i32> {nest.role = "out"}) {
  %least = arith.constant 0xff800000 : f32
  %zero = arith.constant 0 : i32
  %m = nest.alloc "m" : memref<f32>
  nest.store "m" %least, %m[] : memref<f32>
  nest.store "p" %zero, %p[] : memref<i32>
  nest.for "j" %j = 0 to 1024 {
    %a = nest.load %x[%j] : memref<1024xf32>
    %0 = arith.index_cast %j : index to i64
    %1 = arith.trunci %0 : i64 to i32
    nest.accumulate "p" custom (%a, %1), (%m, %p)[] identity [0xff800000 : f32, 0 : i32] {
    ^bb0(%best: f32, %first: i32, %element: f32, %place: i32):
      %more = arith.cmpf ogt, %element, %best : f32
      %before = arith.cmpi slt, %place, %first : i32
      %takes = arith.ori %more, %before : i1
      %value = arith.select %takes, %element, %best : f32
      %one = arith.constant 1 : i32
      %next = arith.addi %place, %one : i32
      %where = arith.select %takes, %next, %first : i32
      nest.yield %value, %where : f32, i32
    } : memref<f32>, memref<i32>
  }
  func.return
}
