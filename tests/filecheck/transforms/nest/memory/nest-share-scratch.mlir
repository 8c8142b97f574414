// What outlined functions allocate, their caller does, once for all calls and for all functions; not what fits on the stack, nor
// what functions allocate that are not outlined.
// RUN: opt-tool %s -p nest-share-scratch | filecheck %s

// CHECK-LABEL: func.func @f(%x: memref<8xf32>, %y: memref<8xf32> {nest.role = "out"}) {
// CHECK-DAG: %[[T:.*]] = nest.alloc "t" : memref<64x512xf32>
// CHECK-DAG: %[[U:.*]] = nest.alloc "u" : memref<64x512xf32>
// CHECK-NOT: nest.alloc
// CHECK: func.call @f.part(%x, %y, %[[T]]) {nestor.outlined}
// CHECK: func.call @f.part.1(%x, %y, %[[T]], %[[U]]) {nestor.outlined}
// CHECK: func.call @f.part(%x, %y, %[[T]]) {nestor.outlined}
func.func @f(%x: memref<8xf32>, %y: memref<8xf32> {nest.role = "out"}) {
  func.call @f.part(%x, %y) {nestor.outlined} : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @f.part.1(%x, %y) {nestor.outlined} : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @f.part(%x, %y) {nestor.outlined} : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func private @f.part(%x: memref<8xf32>, %y: memref<8xf32> {nest.role = "inout"}, %t: memref<64x512xf32> {nest.role = "out"}) attributes {nestor.outlined} {
// CHECK-NEXT: nest.alloc "small" : memref<8xf32>
// CHECK-NOT: nest.alloc
func.func private @f.part(%x: memref<8xf32>, %y: memref<8xf32> {nest.role = "inout"}) attributes {nestor.outlined} {
  %t = nest.alloc "t" : memref<64x512xf32>
  %small = nest.alloc "small" : memref<8xf32>
  nest.for "i" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %0, %t[%i, 0] : memref<64x512xf32>
    nest.store "small" %0, %small[%i] : memref<8xf32>
  }
  func.return
}

// CHECK-LABEL: func.func private @f.part.1(
// CHECK-NOT: nest.alloc
func.func private @f.part.1(%x: memref<8xf32>, %y: memref<8xf32> {nest.role = "inout"}) attributes {nestor.outlined} {
  %t = nest.alloc "t" : memref<64x512xf32>
  %u = nest.alloc "u" : memref<64x512xf32>
  nest.for "i" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %0, %t[%i, 0] : memref<64x512xf32>
    nest.store "u" %0, %u[%i, 0] : memref<64x512xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @plain(
// CHECK: nest.alloc "t" : memref<64x512xf32>
func.func @plain(%x: memref<8xf32>) {
  %t = nest.alloc "t" : memref<64x512xf32>
  nest.for "i" %i = 0 to 8 {
    %0 = nest.load %x[%i] : memref<8xf32>
    nest.store "t" %0, %t[%i, 0] : memref<64x512xf32>
  }
  func.return
}
