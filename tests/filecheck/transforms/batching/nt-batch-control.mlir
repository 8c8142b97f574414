// nt-batch and control flow: branches and loops that slices take together stay; the others select, or run slice by slice.
// RUN: opt-tool %s -p nt-batch --split-input-file | filecheck %s

// A condition that differs: both sides, and a select.
func.func private @f(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %k = nt.to_scalar %c : tensor<i1> -> i1
  %r = scf.if %k -> (tensor<f32>) {
    %a = nt.exp %x : tensor<f32>
    scf.yield %a : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  }
  func.return %r : tensor<f32>
}
func.func @branches(%x: tensor<8xf32>, %c: tensor<8xi1>, %d: tensor<i1>) -> tensor<8xf32> {
  %r = nt.batch @f(%x, %c : tensor<8xf32>, tensor<8xi1>) along [0, 0] -> (tensor<8xf32>)
  %s = nt.batch @f(%x, %d : tensor<8xf32>, tensor<i1>) along [0, -1] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}
// CHECK-LABEL: @branches
// CHECK: %[[A:.*]] = nt.exp %x : tensor<8xf32>
// CHECK: nt.select %c, %[[A]], %x : tensor<8xf32>
// CHECK: %[[K:.*]] = nt.to_scalar %d
// CHECK: scf.if %[[K]] -> (tensor<8xf32>)

// -----

// What a loop carries is a stack once an iteration makes it one: %n is none.
func.func private @f(%x: tensor<f32>, %h: tensor<f32>, %n: tensor<i64>) -> (tensor<f32>, tensor<i64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r, %m = scf.for %t = %c0 to %c5 step %c1 iter_args(%a = %h, %b = %n) -> (tensor<f32>, tensor<i64>) {
    %0 = nt.multiply %a, %x : tensor<f32>
    %1 = nt.add %b, %b : tensor<i64>
    scf.yield %0, %1 : tensor<f32>, tensor<i64>
  }
  func.return %r, %m : tensor<f32>, tensor<i64>
}
func.func @loops(%x: tensor<8xf32>, %h: tensor<f32>, %n: tensor<i64>) -> tensor<8xf32> {
  %r, %m = nt.batch @f(%x, %h, %n : tensor<8xf32>, tensor<f32>, tensor<i64>) along [0, -1, -1] whole [1] -> (tensor<8xf32>, tensor<i64>)
  func.return %r : tensor<8xf32>
}
// CHECK-LABEL: @loops
// CHECK: %[[H:.*]] = nt.broadcast %h along [] : tensor<f32> -> tensor<8xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[H]], %{{.*}} = %n) -> (tensor<8xf32>, tensor<i64>)

// -----

// A loop that ends elsewhere for each slice runs until all are done.
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %r = scf.while (%a = %x) : (tensor<f32>) -> (tensor<f32>) {
    %0 = nt.constant dense<1.0> : tensor<f32>
    %1 = nt.greater %a, %0 : tensor<f32>
    %2 = nt.to_scalar %1 : tensor<i1> -> i1
    scf.condition(%2) %a : tensor<f32>
  } do {
  ^bb0(%a: tensor<f32>):
    %3 = nt.sqrt %a : tensor<f32>
    scf.yield %3 : tensor<f32>
  }
  func.return %r : tensor<f32>
}
func.func @whiles(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = nt.batch @f(%x : tensor<8xf32>) along [0] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}
// CHECK-LABEL: @whiles
// CHECK: scf.while (%{{.*}} = %x, %{{.*}} = %{{.*}}) : (tensor<8xf32>, tensor<8xi1>) -> (tensor<8xf32>, tensor<8xi1>)
// CHECK: nt.reduce or %{{.*}} over [0] : tensor<8xi1> -> tensor<i1>
// CHECK: } do {
// CHECK: nt.sqrt
// CHECK: nt.select
// CHECK: nt.logical_and

// -----

// A number of iterations that differs: one slice after the other.
func.func private @f(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = nt.to_scalar %n : tensor<i64> -> i64
  %m = arith.index_cast %k : i64 to index
  %r = scf.for %t = %c0 to %m step %c1 iter_args(%a = %x) -> (tensor<f32>) {
    %0 = nt.sqrt %a : tensor<f32>
    scf.yield %0 : tensor<f32>
  }
  func.return %r : tensor<f32>
}
func.func @counts(%x: tensor<8xf32>, %n: tensor<8xi64>) -> tensor<8xf32> {
  %r = nt.batch @f(%x, %n : tensor<8xf32>, tensor<8xi64>) along [0, 0] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}
// CHECK-LABEL: @counts
// CHECK: scf.for %[[S:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}}) -> (tensor<8xf32>)
// CHECK: nt.slice %x[%[[S]]] strides [1] : tensor<8xf32> -> tensor<1xf32>
// CHECK: scf.for {{.*}} -> (tensor<f32>)
// CHECK: nt.loops

// -----

// A call is put in place, a print is made once for each slice, an assertion checks each.
func.func private @nestor_print_begin(i64)
func.func private @nestor_print_float(f64)
func.func private @nestor_print_end()
func.func private @g(%x: tensor<f64>) -> tensor<f64> {
  %0 = nt.sqrt %x : tensor<f64>
  func.return %0 : tensor<f64>
}
func.func private @f(%x: tensor<f64>, %c: tensor<i1>) -> tensor<f64> {
  %0 = func.call @g(%x) : (tensor<f64>) -> tensor<f64>
  %site = arith.constant 0 : i64
  func.call @nestor_print_begin(%site) : (i64) -> ()
  %1 = nt.to_scalar %0 : tensor<f64> -> f64
  func.call @nestor_print_float(%1) : (f64) -> ()
  func.call @nestor_print_end() : () -> ()
  %2 = nt.to_scalar %c : tensor<i1> -> i1
  cf.assert %2, "no"
  func.return %0 : tensor<f64>
}
func.func @effects(%x: tensor<8xf64>, %c: tensor<8xi1>) -> tensor<8xf64> {
  %r = nt.batch @f(%x, %c : tensor<8xf64>, tensor<8xi1>) along [0, 0] -> (tensor<8xf64>)
  func.return %r : tensor<8xf64>
}
// CHECK-LABEL: @effects
// CHECK: nt.sqrt %x : tensor<8xf64>
// CHECK: scf.for
// CHECK: func.call @nestor_print_begin
// CHECK: func.call @nestor_print_float
// CHECK: func.call @nestor_print_end
// CHECK: nt.loops
// CHECK: nest.for "slice"
// CHECK: cf.assert

// -----

// An island on a side runs for all slices where its loops alone say which elements it is on, ...
func.func private @f(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %k = nt.to_scalar %c : tensor<i1> -> i1
  %r = scf.if %k -> (tensor<4xf32>) {
    %e = nt.empty : tensor<4xf32>
    %a = nt.loops ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%xm: memref<4xf32>, %em: memref<4xf32>):
      nest.for "i" %i = 0 to 4 {
        %0 = nest.load %xm[3 - %i] : memref<4xf32>
        nest.store %0, %em[%i] : memref<4xf32>
      }
    }
    scf.yield %a : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
func.func @islands(%x: tensor<8x4xf32>, %c: tensor<8xi1>) -> tensor<8x4xf32> {
  %r = nt.batch @f(%x, %c : tensor<8x4xf32>, tensor<8xi1>) along [0, 0] -> (tensor<8x4xf32>)
  func.return %r : tensor<8x4xf32>
}
// CHECK-LABEL: @islands
// CHECK-NOT: scf.
// CHECK: nest.load %{{.*}}[%{{.*}}, 3 - %{{.*}}]
// CHECK: nt.select

// -----

// ... and for one slice after the other where it checks an index.
func.func private @f(%x: tensor<4xf32>, %c: tensor<i1>, %n: index) -> tensor<4xf32> {
  %k = nt.to_scalar %c : tensor<i1> -> i1
  %r = scf.if %k -> (tensor<4xf32>) {
    %a = nt.loops ins() outs(%x : tensor<4xf32>) {
    ^bb0(%xm: memref<4xf32>):
      %i = nest.index %n of 4 axis 0 of "x"
      %0 = arith.constant 1.0 : f32
      nest.store %0, %xm[%i] : memref<4xf32>
    }
    scf.yield %a : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
func.func @checks(%x: tensor<8x4xf32>, %c: tensor<8xi1>, %n: index) -> tensor<8x4xf32> {
  %r = nt.batch @f(%x, %c, %n : tensor<8x4xf32>, tensor<8xi1>, index) along [0, 0, -1] -> (tensor<8x4xf32>)
  func.return %r : tensor<8x4xf32>
}
// CHECK-LABEL: @checks
// CHECK: scf.for
// CHECK: scf.if
// CHECK: nest.index %n of 4

// -----

// Also where only the condition may say that a loop ends within the array.
func.func private @f(%x: tensor<4xf32>, %c: tensor<i1>, %n: index) -> tensor<4xf32> {
  %k = nt.to_scalar %c : tensor<i1> -> i1
  %r = scf.if %k -> (tensor<4xf32>) {
    %a = nt.loops ins() outs(%x : tensor<4xf32>) {
    ^bb0(%xm: memref<4xf32>):
      %0 = arith.constant 1.0 : f32
      nest.for "i" %i = 0 to %n {
        nest.store %0, %xm[%i] : memref<4xf32>
      }
    }
    scf.yield %a : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
func.func @ends(%x: tensor<8x4xf32>, %c: tensor<8xi1>, %n: index) -> tensor<8x4xf32> {
  %r = nt.batch @f(%x, %c, %n : tensor<8x4xf32>, tensor<8xi1>, index) along [0, 0, -1] -> (tensor<8x4xf32>)
  func.return %r : tensor<8x4xf32>
}
// CHECK-LABEL: @ends
// CHECK: scf.for
// CHECK: scf.if
// CHECK: nest.for "i" %{{.*}} = 0 to %n
