// What is slow and computed of sums over columns alone is stored for all columns first, in the result that it is where it is one.
// RUN: opt-tool %s -p nt-fuse,convert-nt-to-nest | filecheck %s

// CHECK-LABEL: func.func @centred
// CHECK: nest.accumulate "s" add
// CHECK: arith.divf
// CHECK-NEXT: nest.store "mean" %{{.+}}, %mean[
// CHECK: nest.load %x[
// CHECK-NEXT: [[M:%.+]] = nest.load %mean[
// CHECK-NEXT: arith.subf %{{.+}}, [[M]]
// CHECK-NOT: arith.divf
func.func @centred(%x: tensor<100x64xf32>) -> (tensor<100x64xf32>, tensor<64xf32>) {
  %n = nt.constant dense<1.000000e+02> : tensor<f32>
  %ns = nt.broadcast %n along [] : tensor<f32> -> tensor<64xf32>
  %s = nt.reduce add %x over [0] : tensor<100x64xf32> -> tensor<64xf32>
  %mean = nt.divide %s, %ns : tensor<64xf32>
  %all = nt.broadcast %mean along [1] : tensor<64xf32> -> tensor<100x64xf32>
  %r = nt.subtract %x, %all : tensor<100x64xf32>
  func.return %r, %mean : tensor<100x64xf32>, tensor<64xf32>
}

// The last of a chain is stored, not what it is made of.
// CHECK-LABEL: func.func @scaled
// CHECK: arith.divf
// CHECK-NEXT: [[ROOT:%.+]] = math.sqrt
// CHECK-NEXT: nest.store "root" [[ROOT]], %root[
// CHECK: nest.load %x[
// CHECK-NEXT: nest.load %root[
// CHECK-NOT: math.sqrt
func.func @scaled(%x: tensor<100x64xf32>) -> tensor<100x64xf32> {
  %n = nt.constant dense<1.000000e+02> : tensor<f32>
  %ns = nt.broadcast %n along [] : tensor<f32> -> tensor<64xf32>
  %s = nt.reduce add %x over [0] : tensor<100x64xf32> -> tensor<64xf32>
  %mean = nt.divide %s, %ns : tensor<64xf32>
  %root = nt.sqrt %mean : tensor<64xf32>
  %all = nt.broadcast %root along [1] : tensor<64xf32> -> tensor<100x64xf32>
  %r = nt.multiply %x, %all : tensor<100x64xf32>
  func.return %r : tensor<100x64xf32>
}

// What costs no more than a load is computed again.
// CHECK-LABEL: func.func @cheap
// CHECK: nest.accumulate "s" add
// CHECK-NOT: nest.store "shift"
// CHECK: nest.load %x[
// CHECK: arith.addf
// CHECK: arith.subf
func.func @cheap(%x: tensor<100x64xf32>, %b: tensor<64xf32>) -> tensor<100x64xf32> {
  %s = nt.reduce add %x over [0] : tensor<100x64xf32> -> tensor<64xf32>
  %shift = nt.add %s, %b : tensor<64xf32>
  %all = nt.broadcast %shift along [1] : tensor<64xf32> -> tensor<100x64xf32>
  %r = nt.subtract %x, %all : tensor<100x64xf32>
  func.return %r : tensor<100x64xf32>
}
