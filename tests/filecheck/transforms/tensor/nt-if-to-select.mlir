// Branches whose sides cost next to nothing become selections; the others stay.
// RUN: opt-tool %s -p nt-if-to-select --split-input-file | filecheck %s

// Numbers: whatever is computed of them, up to four operations.
// CHECK-LABEL: func.func @numbers
// CHECK-NOT:     scf.if
// CHECK:         [[A:%.*]] = nt.exp %x
// CHECK-NEXT:    [[C:%.*]] = nt.from_scalar %c : i1 -> tensor<i1>
// CHECK-NEXT:    [[R:%.*]] = nt.select [[C]], [[A]], %x
// CHECK-NEXT:    [[S:%.*]] = nt.select [[C]], %x, %y
// CHECK-NEXT:    func.return [[R]], [[S]]
func.func @numbers(%x: tensor<f32>, %y: tensor<f32>, %c: i1) -> (tensor<f32>, tensor<f32>) {
  %r, %s = scf.if %c -> (tensor<f32>, tensor<f32>) {
    %a = nt.exp %x : tensor<f32>
    scf.yield %a, %x : tensor<f32>, tensor<f32>
  } else {
    scf.yield %x, %y : tensor<f32>, tensor<f32>
  }
  func.return %r, %s : tensor<f32>, tensor<f32>
}

// -----

// Arrays: both sides compute from the same ones. A condition that was a tensor is one again.
// CHECK-LABEL: func.func @arrays
// CHECK-NOT:     scf.if
// CHECK:         [[A:%.*]] = nt.add %x, %y
// CHECK-NEXT:    [[B:%.*]] = nt.negative %x
// CHECK-NEXT:    [[N:%.*]] = nt.dim [[A]][0]
// CHECK-NEXT:    [[C:%.*]] = nt.broadcast %t along [] sizes([[N]]) : tensor<i1> -> tensor<?xi1>
// CHECK-NEXT:    nt.select [[C]], [[A]], [[B]]
func.func @arrays(%x: tensor<?xf32> {nt.dims = ["n"]}, %y: tensor<?xf32> {nt.dims = ["n"]}, %t: tensor<i1>) -> tensor<?xf32> {
  %c = nt.to_scalar %t : tensor<i1> -> i1
  %r = scf.if %c -> (tensor<?xf32>) {
    %a = nt.add %x, %y : tensor<?xf32>
    scf.yield %a : tensor<?xf32>
  } else {
    %b = nt.negative %x : tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}

// -----

// Other arrays would be loaded for nothing, an exponential computed, an array written that stays as it is; a number of
// an array's elements is no cheap one, and what may fail is not run for nothing.
// CHECK-LABEL: func.func @stay
// CHECK-COUNT-5: scf.if
func.func @stay(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %n: index) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<1xf32>) {
  %r = scf.if %c -> (tensor<4xf32>) {
    %a = nt.square %x : tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  } else {
    %b = nt.square %y : tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  %s = scf.if %c -> (tensor<4xf32>) {
    %a = nt.exp %x : tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  } else {
    %b = nt.negative %x : tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  %t = scf.if %c -> (tensor<4xf32>) {
    %a = nt.negative %x : tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  %zero = nt.constant dense<0.0> : tensor<f32>
  %u = scf.if %c -> (tensor<f32>) {
    %a = nt.reduce add %x over [0] : tensor<4xf32> -> tensor<f32>
    scf.yield %a : tensor<f32>
  } else {
    scf.yield %zero : tensor<f32>
  }
  %v = scf.if %c -> (tensor<1xf32>) {
    %c4 = arith.constant 4 : index
    %i = nest.index %n of %c4 axis 0 of "x"
    %e = nt.slice %x[%i] strides [1] : tensor<4xf32> -> tensor<1xf32>
    %a = nt.negative %e : tensor<1xf32>
    scf.yield %a : tensor<1xf32>
  } else {
    %e = nt.slice %x[0] strides [1] : tensor<4xf32> -> tensor<1xf32>
    %a = nt.negative %e : tensor<1xf32>
    scf.yield %a : tensor<1xf32>
  }
  func.return %r, %s, %t, %u, %v : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<1xf32>
}

// -----

// Where nothing checks an offset, the condition alone may say that it is in bounds: the slice is not taken for nothing.
// CHECK-LABEL: func.func @unchecked
// CHECK:         scf.if
// CHECK-NEXT:      nt.slice
func.func @unchecked(%x: tensor<4xf32>, %c: i1, %n: index) -> tensor<1xf32> {
  %r = scf.if %c -> (tensor<1xf32>) {
    %e = nt.slice %x[%n] strides [1] : tensor<4xf32> -> tensor<1xf32>
    %a = nt.negative %e : tensor<1xf32>
    scf.yield %a : tensor<1xf32>
  } else {
    %e = nt.slice %x[0] strides [1] : tensor<4xf32> -> tensor<1xf32>
    %a = nt.negative %e : tensor<1xf32>
    scf.yield %a : tensor<1xf32>
  }
  func.return %r : tensor<1xf32>
}
