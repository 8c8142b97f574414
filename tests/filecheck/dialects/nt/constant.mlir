// Constants of every element type, infinities and NaN among them, survive printing and parsing bit by bit.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK:   %{{.*}} = nt.constant dense<true> : tensor<i1>
// CHECK-NEXT:   %{{.*}} = nt.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT:   %{{.*}} = nt.constant dense<255> : tensor<ui8>
// CHECK-NEXT:   %{{.*}} = nt.constant dense<18446744073709551615> : tensor<ui64>
// CHECK-NEXT:   %{{.*}} = nt.constant dense<-128> : tensor<i8>
// CHECK-NEXT:   %{{.*}} = nt.constant dense<1.500000e+00> : tensor<bf16>
// CHECK-NEXT:   %{{.*}} = nt.constant dense<0x7fc0> : tensor<bf16>
// CHECK-NEXT:   %{{.*}} = nt.constant dense<[0x7c00, -0.000000e+00]> : tensor<2xf16>
// CHECK-NEXT:   %{{.*}} = nt.constant dense<[0x7f800000, 0xff800000]> : tensor<2xf32>
// CHECK-NEXT:   %{{.*}} = nt.constant dense<16777217.5> : tensor<f64>
// CHECK-NEXT:   %{{.*}} = nt.constant dense<> : tensor<0x4xf32>
// CHECK-NEXT:   %{{.*}} = nt.constant {note} dense<1> : tensor<i64>
%0 = nt.constant dense<true> : tensor<i1>
%1 = nt.constant dense<[true, false]> : tensor<2xi1>
%2 = nt.constant dense<255> : tensor<ui8>
%3 = nt.constant dense<18446744073709551615> : tensor<ui64>
%4 = nt.constant dense<-128> : tensor<i8>
%5 = nt.constant dense<1.5> : tensor<bf16>
%6 = nt.constant dense<0x7FC0> : tensor<bf16>
%7 = nt.constant dense<[0x7C00, -0.0]> : tensor<2xf16>
%8 = nt.constant dense<[0x7F800000, 0xFF800000]> : tensor<2xf32>
%9 = nt.constant dense<16777217.5> : tensor<f64>
%10 = nt.constant dense<> : tensor<0x4xf32>
%11 = nt.constant {note} dense<1> : tensor<i64>
