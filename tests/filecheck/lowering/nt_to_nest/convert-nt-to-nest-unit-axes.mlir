// A row of a stack is a loop of one iteration, and what is read of it moves with that loop: maximum and sum of the only
// row are in one nest with what is computed of them, as those of many rows.
// RUN: opt-tool %s -p nt-fuse,convert-nt-to-nest | filecheck %s

// CHECK-LABEL: func.func @softmax
// CHECK:       nest.for "i" %[[I:.*]] = 0 to 4 {
// CHECK-NEXT:    nest.for "j" %[[J:.*]] = 0 to 1 {
// CHECK:           nest.accumulate "{{.*}}" maximum
// CHECK:           nest.accumulate "{{.*}}" add
// CHECK:           nest.store "y" %{{.*}}, %y[%[[I]], %[[J]], %{{.*}}]
// CHECK-NOT:   nest.for "i.
func.func @softmax(%x: tensor<4x1x33xf32>) -> tensor<4x1x33xf32> {
  %0 = nt.reduce maximum %x over [2] : tensor<4x1x33xf32> -> tensor<4x1xf32>
  %1 = nt.broadcast %0 along [0, 1] : tensor<4x1xf32> -> tensor<4x1x33xf32>
  %2 = nt.subtract %x, %1 : tensor<4x1x33xf32>
  %e = nt.exp %2 : tensor<4x1x33xf32>
  %3 = nt.reduce add %e over [2] : tensor<4x1x33xf32> -> tensor<4x1xf32>
  %4 = nt.broadcast %3 along [0, 1] : tensor<4x1xf32> -> tensor<4x1x33xf32>
  %y = nt.divide %e, %4 : tensor<4x1x33xf32>
  func.return %y : tensor<4x1x33xf32>
}

// An axis that is repeated is read at 0.
// CHECK-LABEL: func.func @repeated
// CHECK:       nest.load %x[0] : memref<1xf32>
// CHECK-NEXT:  nest.for "i" %{{.*}} = 0 to 4 {
func.func @repeated(%x: tensor<1xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nt.broadcast %x along [0] : tensor<1xf32> -> tensor<4xf32>
  %z = nt.add %0, %y : tensor<4xf32>
  func.return %z : tensor<4xf32>
}
