// nt-batch puts operations on whole stacks in the place of a function that is applied to each slice.
// RUN: opt-tool %s -p nt-batch --split-input-file | filecheck %s

func.func private @f(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<f32> {
  %0 = nt.multiply %x, %w : tensor<4xf32>
  %1 = nt.exp %w : tensor<4xf32>
  %2 = nt.add %0, %1 : tensor<4xf32>
  %3 = nt.reduce add %2 over [0] : tensor<4xf32> -> tensor<f32>
  func.return %3 : tensor<f32>
}
func.func @rows(%x: tensor<8x4xf32>, %w: tensor<4xf32>) -> tensor<8xf32> {
  %r = nt.batch @f(%x, %w : tensor<8x4xf32>, tensor<4xf32>) along [0, -1] -> (tensor<8xf32>)
  func.return %r : tensor<8xf32>
}
// The function is gone, and what depends on no slice is computed once.
// CHECK-NOT: func.func private
// CHECK: func.func @rows
// CHECK: %[[W:.*]] = nt.broadcast %w along [1] : tensor<4xf32> -> tensor<8x4xf32>
// CHECK: nt.multiply %x, %[[W]] : tensor<8x4xf32>
// CHECK: nt.exp %w : tensor<4xf32>
// CHECK: %[[R:.*]] = nt.reduce add %{{.*}} over [1] : tensor<8x4xf32> -> tensor<8xf32>
// CHECK: func.return %[[R]]

// -----

// Another axis is brought to the front; an unknown number of slices is asked of the operand.
func.func private @f(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nt.multiply %x, %w : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @columns(%x: tensor<4x?xf32>, %w: tensor<4xf32>) -> tensor<?x4xf32> {
  %r = nt.batch @f(%x, %w : tensor<4x?xf32>, tensor<4xf32>) along [1, -1] -> (tensor<?x4xf32>)
  func.return %r : tensor<?x4xf32>
}
// CHECK-LABEL: @columns
// CHECK: %[[N:.*]] = nt.dim %x[1]
// CHECK: %[[X:.*]] = nt.transpose %x perm [1, 0] : tensor<4x?xf32> -> tensor<?x4xf32>
// CHECK: %[[W:.*]] = nt.broadcast %w along [1] sizes(%[[N]]) : tensor<4xf32> -> tensor<?x4xf32>
// CHECK: nt.multiply %[[X]], %[[W]] : tensor<?x4xf32>

// -----

// Views and scans have one axis more.
func.func private @f(%x: tensor<2x6xf32>) -> (tensor<6x2xf32>, tensor<2x4x3xf32>, tensor<12xf32>, tensor<2x3xf32>, tensor<2x6xf32>) {
  %0 = nt.transpose %x perm [1, 0] : tensor<2x6xf32> -> tensor<6x2xf32>
  %1 = nt.window %x over [1] : tensor<2x6xf32> -> tensor<2x4x3xf32>
  %2 = nt.reshape %x : tensor<2x6xf32> -> tensor<12xf32>
  %3 = nt.slice %x[0, 5] strides [1, -2] : tensor<2x6xf32> -> tensor<2x3xf32>
  %4 = nt.scan add %x along 1 : tensor<2x6xf32>
  func.return %0, %1, %2, %3, %4 : tensor<6x2xf32>, tensor<2x4x3xf32>, tensor<12xf32>, tensor<2x3xf32>, tensor<2x6xf32>
}
func.func @views(%x: tensor<8x2x6xf32>) -> tensor<8x6x2xf32> {
  %r:5 = nt.batch @f(%x : tensor<8x2x6xf32>) along [0] -> (tensor<8x6x2xf32>, tensor<8x2x4x3xf32>, tensor<8x12xf32>, tensor<8x2x3xf32>, tensor<8x2x6xf32>)
  func.return %r#0 : tensor<8x6x2xf32>
}
// CHECK-LABEL: @views
// CHECK: nt.transpose %x perm [0, 2, 1]
// CHECK: nt.window %x over [2]
// CHECK: nt.reshape %x : tensor<8x2x6xf32> -> tensor<8x12xf32>
// CHECK: nt.slice %x[0, 0, 5] strides [1, 1, -2] : tensor<8x2x6xf32> -> tensor<8x2x3xf32>
// CHECK: nt.scan add %x along 2

// -----

// Products: slices on both sides go side by side, those of one side are an axis of it.
func.func private @f(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = nt.dot %a, %b contract [1] x [0] : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  func.return %0 : tensor<3x5xf32>
}
func.func @products(%a: tensor<8x3x4xf32>, %b: tensor<8x4x5xf32>, %c: tensor<3x4xf32>, %d: tensor<4x5xf32>) -> tensor<8x3x5xf32> {
  %0 = nt.batch @f(%a, %b : tensor<8x3x4xf32>, tensor<8x4x5xf32>) along [0, 0] -> (tensor<8x3x5xf32>)
  %1 = nt.batch @f(%a, %d : tensor<8x3x4xf32>, tensor<4x5xf32>) along [0, -1] -> (tensor<8x3x5xf32>)
  %2 = nt.batch @f(%c, %b : tensor<3x4xf32>, tensor<8x4x5xf32>) along [-1, 0] -> (tensor<8x3x5xf32>)
  func.return %0 : tensor<8x3x5xf32>
}
// CHECK-LABEL: @products
// CHECK: nt.dot %a, %b batch [0] x [0] contract [2] x [1] {{.*}} -> tensor<8x3x5xf32>
// CHECK: nt.dot %a, %d contract [2] x [0] {{.*}} -> tensor<8x3x5xf32>
// CHECK: %[[D:.*]] = nt.dot %c, %b contract [1] x [1] {{.*}} -> tensor<3x8x5xf32>
// CHECK: nt.transpose %[[D]] perm [1, 0, 2]

// -----

// A matrix times each of several vectors is one product of matrices, with the slices first.
func.func private @f(%a: tensor<3x4xf32>, %x: tensor<4xf32>) -> tensor<3xf32> {
  %0 = nt.dot %a, %x contract [1] x [0] : tensor<3x4xf32>, tensor<4xf32> -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
func.func @vectors(%a: tensor<3x4xf32>, %x: tensor<8x4xf32>) -> tensor<8x3xf32> {
  %0 = nt.batch @f(%a, %x : tensor<3x4xf32>, tensor<8x4xf32>) along [-1, 0] -> (tensor<8x3xf32>)
  func.return %0 : tensor<8x3xf32>
}
// CHECK-LABEL: @vectors
// CHECK: %[[D:.*]] = nt.dot %x, %a contract [1] x [1] {{.*}} -> tensor<8x3xf32>
// CHECK: func.return %[[D]]

// -----

// Innermost first: slices of slices.
func.func private @g(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = nt.multiply %x, %y : tensor<f32>
  func.return %0 : tensor<f32>
}
func.func private @f(%x: tensor<f32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = nt.batch @g(%x, %y : tensor<f32>, tensor<3xf32>) along [-1, 0] -> (tensor<3xf32>)
  func.return %0 : tensor<3xf32>
}
func.func @outer_product(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nt.batch @f(%x, %y : tensor<2xf32>, tensor<3xf32>) along [0, -1] -> (tensor<2x3xf32>)
  func.return %0 : tensor<2x3xf32>
}
// CHECK-NOT: func.func private
// CHECK: @outer_product
// CHECK: %[[X:.*]] = nt.broadcast %x along [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK: %[[Y:.*]] = nt.broadcast %y along [1] : tensor<3xf32> -> tensor<2x3xf32>
// CHECK: nt.multiply %[[X]], %[[Y]] : tensor<2x3xf32>

// -----

// Composites stay whole where a stack is another operand of the same function; an axis moves with the others.
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nt.composite "softmax"(%x : tensor<4xf32>) {axis = 0 : i64} -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = nt.exp %a : tensor<4xf32>
    nt.yield %1 : tensor<4xf32>
  }
  %2 = nt.composite "own"(%0 : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %3 = nt.sqrt %a : tensor<4xf32>
    nt.yield %3 : tensor<4xf32>
  }
  func.return %2 : tensor<4xf32>
}
func.func @composites(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = nt.batch @f(%x : tensor<8x4xf32>) along [0] -> (tensor<8x4xf32>)
  func.return %0 : tensor<8x4xf32>
}
// CHECK-LABEL: @composites
// CHECK: nt.composite "softmax"(%x : tensor<8x4xf32>) {axis = 1 : i64} -> tensor<8x4xf32>
// CHECK: nt.exp %{{.*}} : tensor<8x4xf32>
// CHECK-NOT: nt.composite
// CHECK: nt.sqrt %{{.*}} : tensor<8x4xf32>

// -----

// NumPy's functions of matrices take stacks by themselves; a result that no slice decides can be had as it is.
func.func private @f(%a: tensor<3x3xf64>, %b: tensor<3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<3xf64>) {
  %0 = nt.custom_call ordered "numpy.linalg.inv"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  %1 = nt.custom_call ordered "numpy.linalg.solve"(%a, %b) : (tensor<3x3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %2 = nt.custom_call "numpy.sort"(%b) {axis = 0 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  func.return %0, %1, %2 : tensor<3x3xf64>, tensor<3xf64>, tensor<3xf64>
}
func.func @calls(%a: tensor<8x3x3xf64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  %0, %1, %2 = nt.batch @f(%a, %b : tensor<8x3x3xf64>, tensor<3xf64>) along [0, -1] whole [2] -> (tensor<8x3x3xf64>, tensor<8x3xf64>, tensor<3xf64>)
  func.return %2 : tensor<3xf64>
}
// CHECK-LABEL: @calls
// CHECK: nt.custom_call ordered "numpy.linalg.inv"(%a) : (tensor<8x3x3xf64>) -> tensor<8x3x3xf64>
// CHECK: nt.custom_call ordered "numpy.linalg.solve"({{.*}}) : (tensor<8x3x3xf64>, tensor<8x3x1xf64>) -> tensor<8x3x1xf64>
// CHECK: %[[S:.*]] = nt.custom_call "numpy.sort"(%b) {axis = 0 : i64} : (tensor<3xf64>) -> tensor<3xf64>
// CHECK: func.return %[[S]]

// -----

// A composite that names no axis works along all of a slice, and not along the slices.
func.func private @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = nt.composite "log_softmax"(%x : tensor<3x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%y: tensor<3x4xf32>):
    %1 = nt.exp %y : tensor<3x4xf32>
    nt.yield %1 : tensor<3x4xf32>
  }
  %2 = nt.composite "gelu"(%0 : tensor<3x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%y: tensor<3x4xf32>):
    %3 = nt.exp %y : tensor<3x4xf32>
    nt.yield %3 : tensor<3x4xf32>
  }
  func.return %2 : tensor<3x4xf32>
}
func.func @whole_slices(%x: tensor<8x3x4xf32>) -> tensor<8x3x4xf32> {
  %0 = nt.batch @f(%x : tensor<8x3x4xf32>) along [0] -> (tensor<8x3x4xf32>)
  func.return %0 : tensor<8x3x4xf32>
}
// CHECK-LABEL: @whole_slices
// CHECK: nt.composite "log_softmax"(%x : tensor<8x3x4xf32>) {axis = [1 : i64, 2 : i64]} -> tensor<8x3x4xf32>
// CHECK: nt.composite "gelu"({{.*}} : tensor<8x3x4xf32>) -> tensor<8x3x4xf32>

// -----

// Elementwise code of the user's takes a stack as it is; other code runs for each slice, or its decomposition for all.
func.func private @f(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %0 = nt.custom_call "prog.cube"(%x) {elementwise = true, entry = "cube", kinds = ["array"], language = "llvm", several = false, source = "..."} : (tensor<4xf64>) -> tensor<4xf64>
  %1 = nt.custom_call "prog.turn"(%x) {entry = "turn", kinds = ["array"], language = "c", several = false, source = "..."} : (tensor<4xf64>) -> tensor<4xf64>
  %2 = nt.negative %x : tensor<4xf64>
  %3 = nt.composite "turn"(%1, %2 : tensor<4xf64>, tensor<4xf64>) attributes {nt.native} -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf64>, %b: tensor<4xf64>):
    nt.yield %b : tensor<4xf64>
  }
  func.return %0, %3 : tensor<4xf64>, tensor<4xf64>
}
func.func @code(%x: tensor<8x4xf64>) -> (tensor<8x4xf64>, tensor<8x4xf64>) {
  %0, %1 = nt.batch @f(%x : tensor<8x4xf64>) along [0] -> (tensor<8x4xf64>, tensor<8x4xf64>)
  func.return %0, %1 : tensor<8x4xf64>, tensor<8x4xf64>
}
// CHECK-LABEL: @code
// CHECK-NEXT: %[[C:.*]] = nt.custom_call "prog.cube"(%x) {{.*}} : (tensor<8x4xf64>) -> tensor<8x4xf64>
// CHECK-NEXT: %[[D:.*]] = nt.negative %x : tensor<8x4xf64>
// CHECK-NEXT: func.return %[[C]], %[[D]]
