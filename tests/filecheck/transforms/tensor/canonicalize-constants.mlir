// Canonicalization folds constants as NumPy computes them; a splat stays one element and a broadcast.
// RUN: opt-tool %s -p canonicalize | filecheck %s

// CHECK-LABEL: func.func @elementwise
// CHECK-NEXT:    %[[S:.*]] = nt.constant dense<4.000000e+00> : tensor<f32>
// CHECK-NEXT:    %{{.*}} = nt.broadcast %[[S]] along [] : tensor<f32> -> tensor<100x1000xf32>
// CHECK-NEXT:    nt.constant dense<[11, 22, 33]> : tensor<3xi32>
// CHECK-NEXT:    nt.constant dense<[true, false, false]> : tensor<3xi1>
// CHECK-NEXT:    func.return
func.func @elementwise() -> (tensor<100x1000xf32>, tensor<3xi32>, tensor<3xi1>) {
  %0 = nt.constant dense<2.0> : tensor<100x1000xf32>
  %1 = nt.multiply %0, %0 : tensor<100x1000xf32>
  %2 = nt.constant dense<[1, 2, 3]> : tensor<3xi32>
  %3 = nt.constant dense<[10, 20, 30]> : tensor<3xi32>
  %4 = nt.add %2, %3 : tensor<3xi32>
  %5 = nt.constant dense<2> : tensor<3xi32>
  %6 = nt.less %2, %5 : tensor<3xi32>
  func.return %1, %4, %6 : tensor<100x1000xf32>, tensor<3xi32>, tensor<3xi1>
}

// Integer division by zero gives 0 and the smallest integer over -1 wraps, as NumPy has it; no warning.
// CHECK-LABEL: func.func @integer_division
// CHECK-NEXT:    nt.constant dense<[-128, 0, -4, 4]> : tensor<4xi8>
// CHECK-NEXT:    nt.constant dense<[0, 0, 1, -1]> : tensor<4xi8>
func.func @integer_division() -> (tensor<4xi8>, tensor<4xi8>) {
  %a = nt.constant dense<[-128, 5, -7, -9]> : tensor<4xi8>
  %b = nt.constant dense<[-1, 0, 2, -2]> : tensor<4xi8>
  %q = nt.floor_divide %a, %b : tensor<4xi8>
  %r = nt.remainder %a, %b : tensor<4xi8>
  func.return %q, %r : tensor<4xi8>, tensor<4xi8>
}

// bfloat16 arithmetic rounds to nearest even: 1 + 2**-8 is 1, 1 + 3 * 2**-8 is 1 + 2**-6.
// CHECK-LABEL: func.func @bfloat16
// CHECK-NEXT:    nt.constant dense<[1.000000e+00, 1.0156{{.*}}]> : tensor<2xbf16>
func.func @bfloat16() -> tensor<2xbf16> {
  %a = nt.constant dense<[1.0, 1.0]> : tensor<2xbf16>
  %b = nt.constant dense<[0.00390625, 0.01171875]> : tensor<2xbf16>
  %c = nt.add %a, %b : tensor<2xbf16>
  func.return %c : tensor<2xbf16>
}

// CHECK-LABEL: func.func @structure
// CHECK-NEXT:    nt.constant dense<[{{\[}}1, 3], [2, 4]]> : tensor<2x2xi64>
// CHECK-NEXT:    nt.constant dense<[4, 3]> : tensor<2xi64>
// CHECK-NEXT:    nt.constant dense<[3, 7]> : tensor<2xi64>
// CHECK-NEXT:    nt.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf16>
// CHECK-NEXT:    func.return
func.func @structure() -> (tensor<2x2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<4xf16>) {
  %a = nt.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %t = nt.transpose %a perm [1, 0] : tensor<2x2xi64> -> tensor<2x2xi64>
  %f = nt.reshape %a : tensor<2x2xi64> -> tensor<4xi64>
  %s = nt.slice %f[3] strides [-1] : tensor<4xi64> -> tensor<2xi64>
  %r = nt.reduce add %a over [1] : tensor<2x2xi64> -> tensor<2xi64>
  %c = nt.cast %f : tensor<4xi64> -> tensor<4xf16>
  func.return %t, %s, %r, %c : tensor<2x2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<4xf16>
}

// What NumPy leaves open is left to run time.
// CHECK-LABEL: func.func @open
// CHECK:         nt.cast
func.func @open() -> tensor<i8> {
  %a = nt.constant dense<300.0> : tensor<f32>
  %b = nt.cast %a : tensor<f32> -> tensor<i8>
  func.return %b : tensor<i8>
}

// Sizes of a folded value are those of its operands.
// CHECK-LABEL: func.func @unknown_extents
// CHECK-NEXT:    %[[C:.*]] = nt.constant dense<3.000000e+00> : tensor<f64>
// CHECK-NEXT:    %{{.*}} = nt.broadcast %[[C]] along [] sizes(%n) : tensor<f64> -> tensor<?xf64>
func.func @unknown_extents(%n: index) -> tensor<?xf64> {
  %a = nt.constant dense<1.0> : tensor<f64>
  %b = nt.constant dense<2.0> : tensor<f64>
  %0 = nt.broadcast %a along [] sizes(%n) : tensor<f64> -> tensor<?xf64>
  %1 = nt.broadcast %b along [] sizes(%n) : tensor<f64> -> tensor<?xf64>
  %2 = nt.add %0, %1 : tensor<?xf64>
  func.return %2 : tensor<?xf64>
}
