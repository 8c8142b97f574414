// A reduction over several dimensions is done in two steps where the first shares the loops of another reduction.
// RUN: opt-tool %s -p nt-split-reductions | filecheck %s

// CHECK-LABEL: @rows
// CHECK: [[Y:%\S+]] = nt.exp
// CHECK-NEXT: [[P:%\S+]] = nt.reduce add [[Y]] over [1] : tensor<8x9xf32> -> tensor<8xf32>
// CHECK-NEXT: %s = nt.reduce add [[P]] over [0] : tensor<8xf32> -> tensor<f32>
func.func @rows(%x: tensor<8x9xf32>) -> tensor<f32> {
  %m = nt.reduce maximum %x over [1] : tensor<8x9xf32> -> tensor<8xf32>
  %1 = nt.broadcast %m along [0] : tensor<8xf32> -> tensor<8x1xf32>
  %2 = nt.broadcast %1 along [0, 1] : tensor<8x1xf32> -> tensor<8x9xf32>
  %3 = nt.subtract %x, %2 : tensor<8x9xf32>
  %4 = nt.exp %3 : tensor<8x9xf32>
  %s = nt.reduce add %4 over [0, 1] : tensor<8x9xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

// The first dimension of three, of unknown extents; the second of these is what the reduction keeps.
// CHECK-LABEL: @columns
// CHECK: nt.reduce maximum {{.*}} over [0] : tensor<?x?x4xf32> -> tensor<?x4xf32>
// CHECK: nt.reduce maximum {{.*}} over [1] : tensor<?x4xf32> -> tensor<?xf32>
func.func @columns(%x: tensor<?x?x4xf32>) -> tensor<?xf32> {
  %n = nt.dim %x[0] : tensor<?x?x4xf32>
  %k = nt.dim %x[1] : tensor<?x?x4xf32>
  %m = nt.reduce add %x over [0] : tensor<?x?x4xf32> -> tensor<?x4xf32>
  %0 = nt.sqrt %m : tensor<?x4xf32>
  %1 = nt.broadcast %0 along [1, 2] sizes(%n, %k) : tensor<?x4xf32> -> tensor<?x?x4xf32>
  %2 = nt.multiply %x, %1 : tensor<?x?x4xf32>
  %s = nt.reduce maximum %2 over [0, 2] : tensor<?x?x4xf32> -> tensor<?xf32>
  func.return %s : tensor<?xf32>
}

// Nothing to share: another reduction of other extents, none at all, or an order that is given.
// CHECK-LABEL: @whole
// CHECK: nt.reduce add {{.*}} over [0, 1] : tensor<9x9xf32> -> tensor<f32>
// CHECK: nt.reduce add {{.*}} over [0, 1] : tensor<9x9xf32> -> tensor<f32>
// CHECK: nt.reduce add {{.*}} over [0, 1] order "sequential"
func.func @whole(%x: tensor<9x9xf32>, %v: tensor<9x4xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = nt.reduce add %x over [0, 1] : tensor<9x9xf32> -> tensor<f32>
  %m = nt.reduce add %v over [1] : tensor<9x4xf32> -> tensor<9xf32>
  %1 = nt.broadcast %m along [0] : tensor<9xf32> -> tensor<9x9xf32>
  %2 = nt.multiply %x, %1 : tensor<9x9xf32>
  %3 = nt.reduce add %2 over [0, 1] : tensor<9x9xf32> -> tensor<f32>
  %n = nt.reduce add %2 over [1] : tensor<9x9xf32> -> tensor<9xf32>
  %4 = nt.broadcast %n along [0] : tensor<9xf32> -> tensor<9x9xf32>
  %5 = nt.multiply %4, %2 : tensor<9x9xf32>
  %6 = nt.reduce add %5 over [0, 1] order "sequential" : tensor<9x9xf32> -> tensor<f32>
  func.return %0, %3, %6 : tensor<f32>, tensor<f32>, tensor<f32>
}
