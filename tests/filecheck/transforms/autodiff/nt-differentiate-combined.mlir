// Reductions with a combiner of one's own are differentiated as loops in the order of the elements.
// RUN: opt-tool %s -p nt-differentiate,canonicalize,cse | filecheck %s

// CHECK-LABEL: func.func @of_squares
// CHECK-NOT:     nt.reduce custom
// CHECK:         nt.loops
// CHECK:           nest.for "i"
// CHECK:           nest.for "j"
func.func private @squares(%x: tensor<3x?xf64>) -> tensor<3xf64> {
  %s = nt.reduce custom %x over [1] identity [0.0 : f64] {
  ^bb0(%a: f64, %b: f64):
    %p = arith.mulf %b, %b : f64
    %q = arith.addf %a, %p : f64
    nt.yield %q : f64
  } : tensor<3x?xf64> -> tensor<3xf64>
  func.return %s : tensor<3xf64>
}
func.func @of_squares(%x: tensor<3x?xf64>, %c: tensor<3xf64>) -> tensor<3x?xf64> {
  %y, %g = nt.vjp @squares(%x : tensor<3x?xf64>) cotangents(%c : tensor<3xf64>) wrt [0] of [0] -> (tensor<3xf64>, tensor<3x?xf64>)
  func.return %g : tensor<3x?xf64>
}

// Of a place only the index is used: the reduction stays as it is.
// CHECK-LABEL: func.func @of_place
// CHECK:         nt.reduce custom
// CHECK-NOT:     nt.loops
func.func private @place(%x: tensor<4xf64>, %k: tensor<4xi64>) -> tensor<f64> {
  %m, %p = nt.reduce custom (%x, %k) over [0] identity [0.0 : f64, 0 : i64] {
  ^bb0(%a: f64, %i: i64, %b: f64, %j: i64):
    %c = arith.cmpf ogt, %a, %b : f64
    %v = arith.select %c, %a, %b : f64
    %w = arith.select %c, %i, %j : i64
    nt.yield %v, %w : f64, i64
  } : tensor<4xf64>, tensor<4xi64> -> tensor<f64>, tensor<i64>
  %f = nt.cast %p : tensor<i64> -> tensor<f64>
  %s = nt.reduce add %x over [0] : tensor<4xf64> -> tensor<f64>
  %r = nt.multiply %f, %s : tensor<f64>
  func.return %r : tensor<f64>
}
func.func @of_place(%x: tensor<4xf64>, %k: tensor<4xi64>, %c: tensor<f64>) -> tensor<4xf64> {
  %y, %g = nt.vjp @place(%x, %k : tensor<4xf64>, tensor<4xi64>) cotangents(%c : tensor<f64>) wrt [0] of [0] -> (tensor<f64>, tensor<4xf64>)
  func.return %g : tensor<4xf64>
}
