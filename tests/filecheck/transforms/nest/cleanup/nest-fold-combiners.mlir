// What a combiner compares is known where values come in ascending order: the first place of equal elements is the one
// that is there. Lanes that are combined come in another order.
// RUN: opt-tool %s -p nest-fold-combiners --split-input-file | filecheck %s

// CHECK-LABEL: func.func @row
// CHECK:           nest.accumulate "p" custom (%a, %1), (%m, %p)[] identity
// CHECK-NEXT:      ^bb0(%best: f32, %first: i32, %element: f32, %place: i32):
// CHECK-NEXT:        %more = arith.cmpf ogt, %element, %best : f32
// CHECK-NEXT:        %{{.*}} = arith.select %more, %element, %best : f32
// CHECK-NEXT:        %{{.*}} = arith.select %more, %place, %first : i32
// CHECK-NEXT:        nest.yield
func.func @row(%x: memref<1024xf32>, %p: memref<i32> {nest.role = "out"}) {
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
      %equal = arith.cmpf oeq, %element, %best : f32
      %before = arith.cmpi slt, %place, %first : i32
      %tie = arith.andi %equal, %before : i1
      %takes = arith.ori %more, %tie : i1
      %value = arith.select %takes, %element, %best : f32
      %where = arith.select %takes, %place, %first : i32
      nest.yield %value, %where : f32, i32
    } : memref<f32>, memref<i32>
  }
  func.return
}

// -----

// Each lane sees its elements in order; the lanes are not: the one that combines them compares places.
// CHECK-LABEL: func.func @lanes
// CHECK:           nest.accumulate "p" custom (%a, %{{.*}}), (%m, %p)[%v]
// CHECK-NOT:         arith.cmpi
// CHECK:           } : memref<8xf32>, memref<8xi64>
// CHECK:           nest.accumulate "q" custom (%b, %k), (%n, %q)[]
// CHECK:             arith.cmpi slt
// CHECK:           } : memref<f32>, memref<i64>
func.func @lanes(%x: memref<1024xf32>, %q: memref<i64> {nest.role = "out"}) {
  %least = arith.constant 0xff800000 : f32
  %zero = arith.constant 0 : i64
  %m = nest.alloc "m" : memref<8xf32>
  %p = nest.alloc "p" : memref<8xi64>
  %n = nest.alloc "n" : memref<f32>
  nest.store "n" %least, %n[] : memref<f32>
  nest.store "q" %zero, %q[] : memref<i64>
  nest.for "init" %w = 0 to 8 vectorized(8) {
    nest.store "m" %least, %m[%w] : memref<8xf32>
    nest.store "p" %zero, %p[%w] : memref<8xi64>
  }
  nest.for "j" %o = 0 to 128 {
    nest.for "v" %v = 0 to 8 vectorized(8) {
      %a = nest.load %x[8 * %o + %v] : memref<1024xf32>
      %eight = arith.constant 8 : index
      %start = arith.muli %o, %eight : index
      %j = arith.addi %start, %v : index
      %0 = arith.index_cast %j : index to i64
      nest.accumulate "p" custom (%a, %0), (%m, %p)[%v] identity [0xff800000 : f32, 0 : i64] {
      ^bb0(%best: f32, %first: i64, %element: f32, %place: i64):
        %more = arith.cmpf ogt, %element, %best : f32
        %equal = arith.cmpf oeq, %element, %best : f32
        %before = arith.cmpi slt, %place, %first : i64
        %tie = arith.andi %equal, %before : i1
        %takes = arith.ori %more, %tie : i1
        %value = arith.select %takes, %element, %best : f32
        %where = arith.select %takes, %place, %first : i64
        nest.yield %value, %where : f32, i64
      } : memref<8xf32>, memref<8xi64>
    }
  }
  nest.for "c" %c = 0 to 8 {
    %b = nest.load %m[%c] : memref<8xf32>
    %k = nest.load %p[%c] : memref<8xi64>
    nest.accumulate "q" custom (%b, %k), (%n, %q)[] identity [0xff800000 : f32, 0 : i64] {
    ^bb0(%best: f32, %first: i64, %element: f32, %place: i64):
      %more = arith.cmpf ogt, %element, %best : f32
      %equal = arith.cmpf oeq, %element, %best : f32
      %before = arith.cmpi slt, %place, %first : i64
      %tie = arith.andi %equal, %before : i1
      %takes = arith.ori %more, %tie : i1
      %value = arith.select %takes, %element, %best : f32
      %where = arith.select %takes, %place, %first : i64
      nest.yield %value, %where : f32, i64
    } : memref<f32>, memref<i64>
  }
  func.return
}

// -----

// Two comparisons, of which the first makes the second one useless.
// CHECK-LABEL: func.func @twice
// CHECK:           nest.accumulate "p" custom (%a, %0), (%m, %p)[]
// CHECK-NOT:         arith.cmpi
// CHECK:             nest.yield %element, %place
func.func @twice(%x: memref<64xi64>, %p: memref<i64> {nest.role = "out"}) {
  %zero = arith.constant 0 : i64
  %m = nest.alloc "m" : memref<i64>
  nest.store "m" %zero, %m[] : memref<i64>
  nest.store "p" %zero, %p[] : memref<i64>
  nest.for "j" %j = 0 to 64 {
    %a = nest.load %x[%j] : memref<64xi64>
    %0 = arith.index_cast %j : index to i64
    nest.accumulate "p" custom (%a, %0), (%m, %p)[] identity [0, 0] {
    ^bb0(%best: i64, %first: i64, %element: i64, %place: i64):
      %before = arith.cmpi slt, %place, %first : i64
      %behind = arith.cmpi sge, %place, %first : i64
      %both = arith.andi %before, %behind : i1
      %value = arith.select %both, %best, %element : i64
      %where = arith.select %both, %first, %place : i64
      nest.yield %value, %where : i64, i64
    } : memref<i64>, memref<i64>
  }
  func.return
}
