// Tensors of complex numbers: elementwise operations, their parts, constants, reductions.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @complex
// CHECK-NEXT:    %k = nt.constant dense<(1.000000e+00,-2.000000e+00)> : tensor<complex<f32>>
// CHECK-NEXT:    %m = nt.multiply %x, %x : tensor<4x?xcomplex<f32>>
// CHECK-NEXT:    %a = nt.absolute %m : tensor<4x?xcomplex<f32>>
// CHECK-NEXT:    %r = nt.real %m : tensor<4x?xcomplex<f32>>
// CHECK-NEXT:    %z = nt.complex %a, %r : tensor<4x?xf32>
// CHECK-NEXT:    %c = nt.conjugate %z : tensor<4x?xcomplex<f32>>
// CHECK-NEXT:    %l = nt.less %c, %x : tensor<4x?xcomplex<f32>>
// CHECK-NEXT:    %s = nt.select %l, %c, %x : tensor<4x?xcomplex<f32>>
// CHECK-NEXT:    %w = nt.cast %s : tensor<4x?xcomplex<f32>> -> tensor<4x?xcomplex<f64>>
// CHECK-NEXT:    %t = nt.reduce add %w over [0] : tensor<4x?xcomplex<f64>> -> tensor<?xcomplex<f64>>
func.func @complex(%x: tensor<4x?xcomplex<f32>>) -> tensor<?xcomplex<f64>> {
  %k = nt.constant dense<(1.0, -2.0)> : tensor<complex<f32>>
  %m = nt.multiply %x, %x : tensor<4x?xcomplex<f32>>
  %a = nt.absolute %m : tensor<4x?xcomplex<f32>>
  %r = nt.real %m : tensor<4x?xcomplex<f32>>
  %z = nt.complex %a, %r : tensor<4x?xf32>
  %c = nt.conjugate %z : tensor<4x?xcomplex<f32>>
  %l = nt.less %c, %x : tensor<4x?xcomplex<f32>>
  %s = nt.select %l, %c, %x : tensor<4x?xcomplex<f32>>
  %w = nt.cast %s : tensor<4x?xcomplex<f32>> -> tensor<4x?xcomplex<f64>>
  %t = nt.reduce add %w over [0] : tensor<4x?xcomplex<f64>> -> tensor<?xcomplex<f64>>
  func.return %t : tensor<?xcomplex<f64>>
}
