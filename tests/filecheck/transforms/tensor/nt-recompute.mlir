// Values that fusions hand each other in memory are computed again where that costs less.
// RUN: opt-tool %s -p nt-recompute | filecheck %s
// RUN: opt-tool %s -p nt-recompute --verify-roundtrip | filecheck %s

// Made of smaller arrays: nobody stores it.
// CHECK-LABEL: @pairs
// CHECK-NOT: "d"
// CHECK: nt.fusion "s"
// CHECK: nt.broadcast %x along [0, 2]
// CHECK: [[D:%\S+]] = nt.subtract
// CHECK: nt.multiply [[D]], [[D]]
// CHECK: nt.fusion "t"
// CHECK: [[E:%\S+]] = nt.subtract
// CHECK: nt.reduce add [[E]] over [1]
func.func @pairs(%x: tensor<64x8xf32>) -> (tensor<64x64xf32>, tensor<64x8xf32>) {
  %d = nt.fusion "d" {
    %0 = nt.broadcast %x along [0, 2] : tensor<64x8xf32> -> tensor<64x64x8xf32>
    %1 = nt.broadcast %x along [1, 2] : tensor<64x8xf32> -> tensor<64x64x8xf32>
    %2 = nt.subtract %0, %1 : tensor<64x64x8xf32>
    nt.yield %2 : tensor<64x64x8xf32>
  } : tensor<64x64x8xf32>
  %s = nt.fusion "s" {
    %3 = nt.multiply %d, %d : tensor<64x64x8xf32>
    %4 = nt.reduce add %3 over [2] : tensor<64x64x8xf32> -> tensor<64x64xf32>
    nt.yield %4 : tensor<64x64xf32>
  } : tensor<64x64xf32>
  %t = nt.fusion "t" {
    %5 = nt.reduce add %d over [1] : tensor<64x64x8xf32> -> tensor<64x8xf32>
    nt.yield %5 : tensor<64x8xf32>
  } : tensor<64x8xf32>
  func.return %s, %t : tensor<64x64xf32>, tensor<64x8xf32>
}

// The mean is loaded, a value for each row, and keeps its name; what is left of the first fusion is the reduction.
// CHECK-LABEL: @centred
// CHECK: [[M:%m]] = nt.fusion "c" {
// CHECK: nt.reduce add %x over [1]
// CHECK-NOT: nt.subtract
// CHECK: nt.fusion "v" {
// CHECK: nt.broadcast [[M]]
// CHECK: nt.subtract %x
// CHECK: nt.reduce add {{.*}} over [0]
func.func @centred(%x: tensor<64x32xf32>) -> tensor<32xf32> {
  %c = nt.fusion "c" {
    %m = nt.reduce add %x over [1] : tensor<64x32xf32> -> tensor<64xf32>
    %0 = nt.broadcast %m along [0] : tensor<64xf32> -> tensor<64x32xf32>
    %1 = nt.subtract %x, %0 : tensor<64x32xf32>
    nt.yield %1 : tensor<64x32xf32>
  } : tensor<64x32xf32>
  %v = nt.fusion "v" {
    %2 = nt.multiply %c, %c : tensor<64x32xf32>
    %3 = nt.reduce add %2 over [0] : tensor<64x32xf32> -> tensor<32xf32>
    nt.yield %3 : tensor<32xf32>
  } : tensor<32xf32>
  func.return %v : tensor<32xf32>
}

// Stored: a function costs more than memory, a result and what a slice reads are in memory anyway.
// CHECK-LABEL: @stored
// CHECK: nt.fusion "e"
// CHECK: nt.yield {{.*}} : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
func.func @stored(%x: tensor<64x32xf32>, %y: tensor<64x32xf32>) -> (tensor<32xf32>, tensor<64x32xf32>, tensor<1x32xf32>) {
  %e, %f, %g = nt.fusion "e" {
    %0 = nt.exp %x : tensor<64x32xf32>
    %1 = nt.add %x, %y : tensor<64x32xf32>
    %2 = nt.negative %1 : tensor<64x32xf32>
    nt.yield %0, %1, %2 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
  } : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
  %s = nt.fusion "s" {
    %3 = nt.multiply %e, %f : tensor<64x32xf32>
    %4 = nt.reduce add %3 over [0] : tensor<64x32xf32> -> tensor<32xf32>
    nt.yield %4 : tensor<32xf32>
  } : tensor<32xf32>
  %t = nt.fusion "t" {
    %5 = nt.slice %g[3, 0] strides [1, 1] : tensor<64x32xf32> -> tensor<1x32xf32>
    %6 = nt.square %5 : tensor<1x32xf32>
    nt.yield %6 : tensor<1x32xf32>
  } : tensor<1x32xf32>
  func.return %s, %f, %t : tensor<32xf32>, tensor<64x32xf32>, tensor<1x32xf32>
}

// An argument that the function writes in between: what it held is not read again.
// CHECK-LABEL: @written
// CHECK: nt.fusion "d"
// CHECK: nt.loops
func.func @written(%x: tensor<64xf32> {nt.mutated}) -> (tensor<f32>, tensor<64xf32> {nt.writes_arg = 0 : i64}) {
  %d = nt.fusion "d" {
    %0 = nt.add %x, %x : tensor<64xf32>
    nt.yield %0 : tensor<64xf32>
  } : tensor<64xf32>
  %e = nt.empty : tensor<64xf32>
  %w = nt.loops ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%dm: memref<64xf32>, %em: memref<64xf32>):
    nest.for "i" %i = 0 to 64 {
      %1 = nest.load %dm[%i] : memref<64xf32>
      nest.store %1, %em[%i] : memref<64xf32>
    }
  }
  %s = nt.fusion "s" {
    %2 = nt.multiply %d, %w : tensor<64xf32>
    %3 = nt.reduce add %2 over [0] : tensor<64xf32> -> tensor<f32>
    nt.yield %3 : tensor<f32>
  } : tensor<f32>
  func.return %s, %w : tensor<f32>, tensor<64xf32>
}

// A mask that random numbers decide is drawn again from its counters by what needs it.
// CHECK-LABEL: @dropped
// CHECK: %{{\S+}} = nt.fusion "y" {
// CHECK: nt.yield %{{\S+}} : tensor<512xf32>
// CHECK: nt.fusion "g" {
// CHECK: nt.philox
// CHECK: nt.less
// CHECK: nt.select
func.func @dropped(%x: tensor<512xf32>, %key: i64, %c: tensor<512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %y, %m = nt.fusion "y" {
    %0 = nt.iota : tensor<512xi64>
    %1 = nt.cast %0 : tensor<512xi64> -> tensor<512xui64>
    %2 = nt.from_scalar %key : i64 -> tensor<i64>
    %3 = nt.cast %2 : tensor<i64> -> tensor<ui64>
    %4 = nt.broadcast %3 along [] : tensor<ui64> -> tensor<512xui64>
    %5 = nt.philox %1, %4, %4 : tensor<512xui64>
    %6 = nt.constant dense<1000000000> : tensor<ui64>
    %7 = nt.broadcast %6 along [] : tensor<ui64> -> tensor<512xui64>
    %8 = nt.less %5, %7 : tensor<512xui64>
    %9 = nt.constant dense<0.0> : tensor<f32>
    %10 = nt.broadcast %9 along [] : tensor<f32> -> tensor<512xf32>
    %11 = nt.select %8, %x, %10 : tensor<512xf32>
    nt.yield %11, %8 : tensor<512xf32>, tensor<512xi1>
  } : tensor<512xf32>, tensor<512xi1>
  %g = nt.fusion "g" {
    %12 = nt.constant dense<0.0> : tensor<f32>
    %13 = nt.broadcast %12 along [] : tensor<f32> -> tensor<512xf32>
    %14 = nt.select %m, %c, %13 : tensor<512xf32>
    nt.yield %14 : tensor<512xf32>
  } : tensor<512xf32>
  func.return %y, %g : tensor<512xf32>, tensor<512xf32>
}
