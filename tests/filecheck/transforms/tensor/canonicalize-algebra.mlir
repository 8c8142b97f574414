// Identities are applied only where they hold to the bit: x + -0.0 is x, x + 0.0 is not.
// RUN: opt-tool %s -p canonicalize | filecheck %s

// CHECK-LABEL: func.func @neutral
// CHECK-NEXT:    func.return %x, %x, %x, %x, %k, %k
func.func @neutral(%x: tensor<4xf32>, %k: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi8>, tensor<4xi8>) {
  %one = nt.constant dense<1.0> : tensor<4xf32>
  %zero = nt.constant dense<0.0> : tensor<4xf32>
  %minus_zero = nt.constant dense<-0.0> : tensor<4xf32>
  %all = nt.constant dense<-1> : tensor<4xi8>
  %none = nt.constant dense<0> : tensor<4xi8>
  %0 = nt.multiply %one, %x : tensor<4xf32>
  %1 = nt.divide %x, %one : tensor<4xf32>
  %2 = nt.subtract %x, %zero : tensor<4xf32>
  %3 = nt.add %x, %minus_zero : tensor<4xf32>
  %4 = nt.bitwise_and %k, %all : tensor<4xi8>
  %5 = nt.add %k, %none : tensor<4xi8>
  func.return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi8>, tensor<4xi8>
}

// CHECK-LABEL: func.func @not_neutral
// CHECK:         nt.add
// CHECK:         nt.multiply
// CHECK:         nt.subtract
// CHECK:         nt.subtract
func.func @not_neutral(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = nt.constant dense<0.0> : tensor<4xf32>
  %minus_zero = nt.constant dense<-0.0> : tensor<4xf32>
  %0 = nt.add %x, %zero : tensor<4xf32>
  %1 = nt.multiply %x, %zero : tensor<4xf32>
  %2 = nt.subtract %x, %minus_zero : tensor<4xf32>
  %3 = nt.subtract %x, %x : tensor<4xf32>
  func.return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @nested
// CHECK-NEXT:    %[[F:.*]] = nt.floor %x
// CHECK-NEXT:    %[[A:.*]] = nt.absolute %x
// CHECK-NEXT:    %[[S:.*]] = nt.select %p, %y, %x
// CHECK-NEXT:    func.return %x, %[[F]], %[[A]], %x, %[[S]]
func.func @nested(%x: tensor<4xf32>, %y: tensor<4xf32>, %p: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = nt.negative %x : tensor<4xf32>
  %1 = nt.negative %0 : tensor<4xf32>
  %2 = nt.floor %x : tensor<4xf32>
  %3 = nt.floor %2 : tensor<4xf32>
  %4 = nt.absolute %0 : tensor<4xf32>
  %5 = nt.maximum %x, %x : tensor<4xf32>
  %6 = nt.logical_not %p : tensor<4xi1>
  %7 = nt.select %6, %x, %y : tensor<4xf32>
  func.return %1, %3, %4, %5, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A quotient by a power of two is a product; by 3, or by 2**-127 (whose inverse is no float), it is not.
// CHECK-LABEL: func.func @division
// CHECK:         %[[H:.*]] = nt.constant dense<1.250000e-01>
// CHECK:         nt.multiply %x
// CHECK:         nt.divide
// CHECK:         nt.divide
func.func @division(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %eight = nt.constant dense<8.0> : tensor<4xf32>
  %three = nt.constant dense<3.0> : tensor<4xf32>
  %tiny = nt.constant dense<2.93873588e-39> : tensor<4xf32>
  %0 = nt.divide %x, %eight : tensor<4xf32>
  %1 = nt.divide %x, %three : tensor<4xf32>
  %2 = nt.divide %x, %tiny : tensor<4xf32>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @known_select
// CHECK-NEXT:    func.return %x, %y
func.func @known_select(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %true = nt.constant dense<true> : tensor<4xi1>
  %false = nt.logical_not %true : tensor<4xi1>
  %0 = nt.select %true, %x, %y : tensor<4xf32>
  %1 = nt.select %false, %x, %y : tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Computation comes before broadcasts.
// CHECK-LABEL: func.func @before_broadcast
// CHECK-NEXT:    %[[E:.*]] = nt.exp %x : tensor<4xf32>
// CHECK-NEXT:    %{{.*}} = nt.broadcast %[[E]] along [1] : tensor<4xf32> -> tensor<3x4xf32>
func.func @before_broadcast(%x: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = nt.broadcast %x along [1] : tensor<4xf32> -> tensor<3x4xf32>
  %1 = nt.exp %0 : tensor<3x4xf32>
  func.return %1 : tensor<3x4xf32>
}
