// Reductions: named, with an order, and custom ones over several operands (here argmax).
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @reduce
// CHECK-NEXT:    nt.reduce maximum %x over [1] : tensor<?x5xf32> -> tensor<?xf32>
// CHECK-NEXT:    nt.reduce add %x over [0, 1] order "sequential" : tensor<?x5xf32> -> tensor<f32>
// CHECK-NEXT:    %v, %i = nt.reduce custom (%x, %k) over [1] identity [-1.000000e+00 : f32, 0 : i64] {
// CHECK-NEXT:    ^{{.*}}(%a: f32, %ai: i64, %e: f32, %ei: i64):
// CHECK:           nt.yield %{{.*}}, %{{.*}} : f32, i64
// CHECK-NEXT:    } : tensor<?x5xf32>, tensor<?x5xi64> -> tensor<?xf32>, tensor<?xi64>
func.func @reduce(%x: tensor<?x5xf32>, %k: tensor<?x5xi64>) {
  %0 = nt.reduce maximum %x over [1] : tensor<?x5xf32> -> tensor<?xf32>
  %1 = nt.reduce add %x over [0, 1] order "sequential" : tensor<?x5xf32> -> tensor<f32>
  %v, %i = nt.reduce custom (%x, %k) over [1] identity [-1.0 : f32, 0 : i64] {
  ^bb0(%a: f32, %ai: i64, %e: f32, %ei: i64):
    %more = arith.cmpf ogt, %e, %a : f32
    %best = arith.select %more, %e, %a : f32
    %where = arith.select %more, %ei, %ai : i64
    nt.yield %best, %where : f32, i64
  } : tensor<?x5xf32>, tensor<?x5xi64> -> tensor<?xf32>, tensor<?xi64>
  func.return
}
