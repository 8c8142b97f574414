// Composites, those in regions of others too, become what they stand for; with `only`, those named.
// RUN: opt-tool %s -p nt-decompose | filecheck %s
// RUN: opt-tool %s -p 'nt-decompose{only=inner}' | filecheck %s --check-prefix=INNER
// RUN: opt-tool %s -p 'nt-decompose{only=outer,none}' | filecheck %s --check-prefix=OUTER

// CHECK-LABEL: @nested
// CHECK-NEXT: [[E:%\S+]] = nt.exp %x : tensor<4xf32>
// CHECK-NEXT: [[S:%\S+]] = nt.add [[E]], %x : tensor<4xf32>
// CHECK-NEXT: [[N:%\S+]] = nt.negative [[S]] : tensor<4xf32>
// CHECK-NEXT: func.return [[N]], [[E]]

// INNER-LABEL: @nested
// INNER-NEXT: nt.composite "outer"(%x : tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32> {
// INNER-NEXT: ^bb{{.*}}([[A:%\S+]]: tensor<4xf32>):
// INNER-NEXT: nt.exp [[A]]
// INNER-NOT: "inner"

// OUTER-LABEL: @nested
// OUTER-NEXT: [[E:%\S+]] = nt.composite "inner"(%x : tensor<4xf32>) {axis = 0 : i64} -> tensor<4xf32> {
// OUTER: nt.add [[E]], %x
// OUTER-NOT: "outer"
func.func @nested(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r, %q = nt.composite "outer"(%x : tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = nt.composite "inner"(%a : tensor<4xf32>) {axis = 0 : i64} -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %0 = nt.exp %b : tensor<4xf32>
      nt.yield %0 : tensor<4xf32>
    }
    %1 = nt.add %e, %a : tensor<4xf32>
    nt.yield %1, %e : tensor<4xf32>, tensor<4xf32>
  }
  %n = nt.negative %r : tensor<4xf32>
  func.return %n, %q : tensor<4xf32>, tensor<4xf32>
}

// A composite that gives an operand back.
// CHECK-LABEL: @through
// CHECK-NEXT: func.return %x
func.func @through(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = nt.composite "same"(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    nt.yield %a : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
