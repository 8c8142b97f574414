// The packed entry point unpacks 8-byte slots and calls the kernel; a loop is emitted rotated, behind a guard.
// RUN: opt-tool %s -p convert-to-llvm | filecheck %s

// CHECK-LABEL: llvm.func internal @scale.kernel(
// CHECK-SAME: %x: !llvm.ptr {llvm.noalias, llvm.readonly}, %x.dim0: i64, %a: f32
// CHECK-SAME: %out: !llvm.ptr {llvm.noalias, llvm.writeonly}
// CHECK: [[GUARD:%.+]] = llvm.icmp "slt" [[ZERO:%.+]], %x.dim0 : i64
// CHECK: llvm.cond_br [[GUARD]], ^bb1([[ZERO]] : i64), ^bb2
// CHECK: ^bb1(%i: i64):
// CHECK: [[P:%.+]] = llvm.getelementptr inbounds %x[%i]
// CHECK: %v = llvm.load [[P]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: %r = llvm.fmul %v, %a : f32
// CHECK: llvm.cond_br {{%.+}}, ^bb1({{%.+}} : i64), ^bb2
// CHECK: llvm.func @scale(%args: !llvm.ptr
// CHECK: [[A:%.+]] = llvm.load {{%.+}} {alignment = 8 : i64} : !llvm.ptr -> f32
// CHECK: %status = llvm.call @scale.kernel({{.*}}) : (!llvm.ptr, i64, f32, !llvm.ptr, i64, !llvm.ptr) -> i32
// CHECK: llvm.return %status : i32
func.func @scale(%x: memref<?xf32> {nestor.noalias}, %a: f32, %out: memref<?xf32> {nestor.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %r = arith.mulf %v, %a : f32
    memref.store %r, %out[%i] : memref<?xf32>
  }
  func.return
}

// Without nestor.noalias nothing is said about aliasing; strides that the type leaves open are slots.
// CHECK-LABEL: llvm.func internal @strided.kernel(
// CHECK-SAME: %y: !llvm.ptr {llvm.writeonly}, %y.dim0: i64, %y.stride0: i64
func.func @strided(%y: memref<?x4xf64, strided<[?, 1]>>, %v: f64) {
  %c2 = arith.constant 2 : index
  memref.store %v, %y[%c2, %c2] : memref<?x4xf64, strided<[?, 1]>>
  func.return
}

// Of two axes of size 1 the one that the result's stride belongs to is kept: element 0 of it is at x + 3 * s + 2.
// CHECK-LABEL: llvm.func internal @window.kernel(
// CHECK-SAME: %x.stride0: i64
// CHECK: [[ROW:%.+]] = llvm.mul {{%.+}}, %x.stride0
// CHECK: [[AT:%.+]] = llvm.add [[ROW]], {{%.+}}
// CHECK: llvm.getelementptr inbounds {{%.+}}{{\[}}[[AT]]]
func.func @window(%x: memref<8x4xf64, strided<[?, 1]>>, %v: f64) {
  %c0 = arith.constant 0 : index
  %w = memref.subview %x[3, 2] [1, 1] [1, 1] : memref<8x4xf64, strided<[?, 1]>> to memref<1xf64, strided<[1], offset: ?>>
  memref.store %v, %w[%c0] : memref<1xf64, strided<[1], offset: ?>>
  func.return
}
