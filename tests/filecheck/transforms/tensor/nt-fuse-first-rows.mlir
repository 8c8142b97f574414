// The first rows of what an island wrote, which the function hands over, stay a view; other slices are copied by a fusion.
// RUN: opt-tool %s -p nt-fuse | filecheck %s

// CHECK-LABEL: func.func @first_rows
// CHECK:         %[[OUT:.*]] = nt.loops
// CHECK:         %[[ROWS:.*]] = nt.slice %[[OUT]][0]
// CHECK-NOT:     nt.fusion
// CHECK:         func.return %[[ROWS]]
func.func @first_rows(%x: tensor<8xf64>, %n: index) -> (tensor<?xf64> {nt.callee_allocated}) {
  %e = nt.constant dense<0.0> : tensor<8xf64>
  %out = nt.loops ins(%x : tensor<8xf64>) outs(%e : tensor<8xf64>) {
  ^bb0(%a: memref<8xf64>, %b: memref<8xf64>):
    nest.for "i" %i = 0 to 8 {
      %v = nest.load %a[%i] : memref<8xf64>
      nest.store "out" %v, %b[%i] : memref<8xf64>
    }
  }
  %rows = nt.slice %out[0] strides [1] sizes(%n) : tensor<8xf64> -> tensor<?xf64>
  func.return %rows : tensor<?xf64>
}

// CHECK-LABEL: func.func @later_rows
// CHECK:         nt.fusion
// CHECK:           nt.slice %{{.*}}[1]
func.func @later_rows(%x: tensor<8xf64>, %n: index) -> (tensor<?xf64> {nt.callee_allocated}) {
  %e = nt.constant dense<0.0> : tensor<8xf64>
  %out = nt.loops ins(%x : tensor<8xf64>) outs(%e : tensor<8xf64>) {
  ^bb0(%a: memref<8xf64>, %b: memref<8xf64>):
    nest.for "i" %i = 0 to 8 {
      %v = nest.load %a[%i] : memref<8xf64>
      nest.store "out" %v, %b[%i] : memref<8xf64>
    }
  }
  %rows = nt.slice %out[1] strides [1] sizes(%n) : tensor<8xf64> -> tensor<?xf64>
  func.return %rows : tensor<?xf64>
}
