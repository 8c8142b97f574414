// Attention for kernels: the reverse computes the scores again, from a number of each row, and keeps none of them.
// RUN: opt-tool %s -p 'nt-differentiate{recompute=true}' --split-input-file | filecheck %s
// RUN: opt-tool %s -p 'nt-differentiate' --split-input-file | filecheck %s --check-prefix=KEPT

// KEPT-NOT: nt.optimization_barrier

// The numbers of the rows are those of the forward, by the same operations: they merge with it later.
// CHECK-LABEL: func.func @gradients
// CHECK: nt.composite "attention"
// CHECK: [[X:%\S+]] = nt.dot %q, {{%\S+}} batch [0] x [0] contract [2] x [1]
// CHECK: [[M:%\S+]] = nt.reduce maximum {{%\S+}} over [2]
// CHECK: [[S:%\S+]] = nt.reduce add {{%\S+}} over [2]
// CHECK: [[LOG:%\S+]] = nt.log [[S]]
// CHECK: [[L:%\S+]] = nt.add [[M]], [[LOG]] : tensor<2x20xf32>
// CHECK: [[D:%\S+]] = nt.reduce add {{%\S+}} over [2] : tensor<2x20x8xf32> -> tensor<2x20xf32>
// CHECK: [[Q:%\S+]], [[K:%\S+]], [[C:%\S+]], [[L1:%\S+]], [[D1:%\S+]] = nt.optimization_barrier %q, %k, %c, [[L]], [[D]]
// CHECK: [[AGAIN:%\S+]] = nt.dot [[Q]], {{%\S+}} batch [0] x [0] contract [2] x [1]
// CHECK: [[DP:%\S+]] = nt.dot [[C]], %v batch [0] x [0] contract [2] x [2]
// CHECK: nt.broadcast [[L1]]
// CHECK: [[P:%\S+]] = nt.exp
// CHECK: nt.broadcast [[D1]]
// CHECK: [[LESS:%\S+]] = nt.subtract [[DP]], {{%\S+}}
// CHECK: nt.multiply [[P]], [[LESS]]
// The product that the program transposes has its factors the other way round, and no array is transposed.
// CHECK: nt.dot {{%\S+}}, [[C]] batch [0] x [0] contract [1] x [1]
// CHECK: nt.dot {{%\S+}}, [[Q]] batch [0] x [0] contract [1] x [1]
func.func private @attend(%q: tensor<2x20x8xf32>, %k: tensor<2x30x8xf32>, %v: tensor<2x30x8xf32>) -> tensor<2x20x8xf32> {
  %0 = nt.composite "attention"(%q, %k, %v : tensor<2x20x8xf32>, tensor<2x30x8xf32>, tensor<2x30x8xf32>) -> tensor<2x20x8xf32> {
  ^bb0(%a: tensor<2x20x8xf32>, %b: tensor<2x30x8xf32>, %c: tensor<2x30x8xf32>):
    %1 = nt.transpose %b perm [0, 2, 1] : tensor<2x30x8xf32> -> tensor<2x8x30xf32>
    %2 = nt.dot %a, %1 batch [0] x [0] contract [2] x [1] : tensor<2x20x8xf32>, tensor<2x8x30xf32> -> tensor<2x20x30xf32>
    %3 = nt.composite "softmax"(%2 : tensor<2x20x30xf32>) {axis = -1 : i64} -> tensor<2x20x30xf32> {
    ^bb0(%s: tensor<2x20x30xf32>):
      %4 = nt.reduce maximum %s over [2] : tensor<2x20x30xf32> -> tensor<2x20xf32>
      %5 = nt.broadcast %4 along [0, 1] : tensor<2x20xf32> -> tensor<2x20x30xf32>
      %6 = nt.subtract %s, %5 : tensor<2x20x30xf32>
      %e = nt.exp %6 : tensor<2x20x30xf32>
      %7 = nt.reduce add %e over [2] : tensor<2x20x30xf32> -> tensor<2x20xf32>
      %8 = nt.broadcast %7 along [0, 1] : tensor<2x20xf32> -> tensor<2x20x30xf32>
      %9 = nt.divide %e, %8 : tensor<2x20x30xf32>
      nt.yield %9 : tensor<2x20x30xf32>
    }
    %10 = nt.dot %3, %c batch [0] x [0] contract [2] x [1] : tensor<2x20x30xf32>, tensor<2x30x8xf32> -> tensor<2x20x8xf32>
    nt.yield %10 : tensor<2x20x8xf32>
  }
  func.return %0 : tensor<2x20x8xf32>
}
func.func @gradients(%q: tensor<2x20x8xf32>, %k: tensor<2x30x8xf32>, %v: tensor<2x30x8xf32>, %c: tensor<2x20x8xf32>) -> (tensor<2x20x8xf32>, tensor<2x30x8xf32>, tensor<2x30x8xf32>) {
  %y, %dq, %dk, %dv = nt.vjp @attend(%q, %k, %v : tensor<2x20x8xf32>, tensor<2x30x8xf32>, tensor<2x30x8xf32>) cotangents(%c : tensor<2x20x8xf32>) wrt [0, 1, 2] of [0] -> (tensor<2x20x8xf32>, tensor<2x20x8xf32>, tensor<2x30x8xf32>, tensor<2x30x8xf32>)
  func.return %dq, %dk, %dv : tensor<2x20x8xf32>, tensor<2x30x8xf32>, tensor<2x30x8xf32>
}
