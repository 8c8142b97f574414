// nt-autocast: products in 16 bits; views and cheap operations follow them, all else stays in 32.
// RUN: opt-tool %s -p 'nt-autocast{to=bf16}' | filecheck %s
// RUN: opt-tool %s -p 'nt-autocast' | filecheck %s --check-prefix=AUTO
// RUN: opt-tool %s -p 'nt-autocast{to=f16}' | filecheck %s --check-prefix=HALF

// A reduction takes the sums as they are; what follows a product takes them rounded.
// CHECK-LABEL: func.func @follows(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK-DAG:     %[[W:.*]] = nt.cast %w : tensor<4x5xf32> -> tensor<4x5xbf16>
// CHECK-DAG:     %[[X:.*]] = nt.cast %x : tensor<8x4xf32> -> tensor<8x4xbf16>
// CHECK:         %[[SUMS:.*]] = nt.dot %[[X]], %[[W]] contract [1] x [0] : tensor<8x4xbf16>, tensor<4x5xbf16> -> tensor<8x5xf32>
// CHECK-NEXT:    %[[LOW:.*]] = nt.cast %[[SUMS]] : tensor<8x5xf32> -> tensor<8x5xbf16>
// CHECK-NEXT:    %[[ABS:.*]] = nt.absolute %[[LOW]] : tensor<8x5xbf16>
// CHECK-NEXT:    %[[UP:.*]] = nt.cast %[[ABS]] : tensor<8x5xbf16> -> tensor<8x5xf32>
// CHECK-NEXT:    nt.reduce add %[[UP]] over [1]
// CHECK-NEXT:    nt.reduce add %[[SUMS]] over [1]
// HALF-LABEL: func.func @follows
// HALF:         nt.dot {{.*}} : tensor<8x4xf16>, tensor<4x5xf16> -> tensor<8x5xf32>
// AUTO-LABEL: func.func @follows
// AUTO:         nt.dot %x, %w {{.*}} : tensor<8x4xf32>, tensor<4x5xf32>
func.func @follows(%x: tensor<8x4xf32>, %w: tensor<4x5xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = nt.dot %x, %w contract [1] x [0] : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>
  %1 = nt.absolute %0 : tensor<8x5xf32>
  %2 = nt.reduce add %1 over [1] : tensor<8x5xf32> -> tensor<8xf32>
  %3 = nt.reduce add %0 over [1] : tensor<8x5xf32> -> tensor<8xf32>
  func.return %2, %3 : tensor<8xf32>, tensor<8xf32>
}

// A value is cast once, in front of the loop that reads it again and again; of a view what it is a view of. A constant is what
// its operation is; an operand in 32 bits makes the operation that.
// CHECK-LABEL: func.func @shared
// CHECK:         %[[W:.*]] = nt.cast %w : tensor<4x4xf32> -> tensor<4x4xbf16>
// CHECK-NOT:     nt.cast %w
// CHECK:         scf.for
// CHECK:           %[[T:.*]] = nt.transpose %[[W]] perm [1, 0] : tensor<4x4xbf16> -> tensor<4x4xbf16>
// CHECK:           nt.dot %{{.*}}, %[[T]]
// CHECK:           nt.maximum %{{.*}}, %{{.*}} : tensor<4x4xbf16>
// CHECK:           nt.dot %{{.*}}, %[[W]]
// CHECK:           nt.add %{{.*}}, %b : tensor<4x4xf32>
// AUTO-LABEL: func.func @shared
// AUTO:         nt.cast %w : tensor<4x4xf32> -> tensor<4x4xbf16>
func.func @shared(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {nt.autocast = "bf16"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = nt.constant dense<0.0> : tensor<f32>
  %zeros = nt.broadcast %zero along [] : tensor<f32> -> tensor<4x4xf32>
  %r = scf.for %t = %c0 to %c3 step %c1 iter_args(%h = %x) -> (tensor<4x4xf32>) {
    %v = nt.transpose %w perm [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    %0 = nt.dot %h, %v contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %1 = nt.maximum %0, %zeros : tensor<4x4xf32>
    %2 = nt.dot %1, %w contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    %3 = nt.add %2, %b : tensor<4x4xf32>
    scf.yield %3 : tensor<4x4xf32>
  }
  func.return %r : tensor<4x4xf32>
}

// What the program computes in other types stays.
// CHECK-LABEL: func.func @others
// CHECK:         nt.dot %x, %x {{.*}} : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
// CHECK:         nt.dot %k, %k {{.*}} : tensor<4x4xi32>, tensor<4x4xi32> -> tensor<4x4xi32>
// CHECK-NOT:     nt.cast
func.func @others(%x: tensor<4x4xf64>, %k: tensor<4x4xi32>) -> (tensor<4x4xf64>, tensor<4x4xi32>) {
  %0 = nt.dot %x, %x contract [1] x [0] : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
  %1 = nt.dot %k, %k contract [1] x [0] : tensor<4x4xi32>, tensor<4x4xi32> -> tensor<4x4xi32>
  func.return %0, %1 : tensor<4x4xf64>, tensor<4x4xi32>
}
