// A buffer of which the first rows are handed over is moved, and not freed; all else is copied to new memory.
// RUN: opt-tool %s -p convert-to-llvm | filecheck %s

func.func private @nestor_hand_over.f64.1(memref<?xf64>, memref<2xi64>, index)

// CHECK-LABEL: llvm.func internal @moved.kernel
// CHECK: %t = llvm.call @aligned_alloc
// CHECK-NOT: llvm.call
// CHECK: llvm.store %t, %out
// CHECK: llvm.getelementptr inbounds %out[%{{.*}}]
// CHECK: llvm.store %n
// CHECK-NOT: llvm.call @free
// CHECK: llvm.return
func.func @moved(%n: index, %out: memref<2xi64>) {
  %t = memref.alloc(%n) : memref<?xf64>
  func.call @nestor_hand_over.f64.1(%t, %out, %n) : (memref<?xf64>, memref<2xi64>, index) -> ()
  memref.dealloc %t : memref<?xf64>
  func.return
}

// The first elements of a buffer: what is behind them is given back.
// CHECK-LABEL: llvm.func internal @first.kernel
// CHECK: [[T:%\S+]] = llvm.call @aligned_alloc
// CHECK: [[S:%\S+]] = llvm.call @realloc([[T]],
// CHECK: [[P:%\S+]] = llvm.select %{{.*}}, [[S]], [[T]]
// CHECK: llvm.store [[P]], %out
// CHECK-NOT: llvm.call @free
// CHECK: llvm.return
func.func @first(%n: index, %m: index, %out: memref<2xi64>) {
  %t = memref.alloc(%n) : memref<?xf64>
  func.call @nestor_hand_over.f64.1(%t, %out, %m) : (memref<?xf64>, memref<2xi64>, index) -> ()
  func.return
}

// Part of a buffer, and the same one again: the last time it is moved.
// CHECK-LABEL: llvm.func internal @copied.kernel
// CHECK: [[T:%\S+]] = llvm.call @aligned_alloc
// CHECK: [[P:%\S+]] = llvm.call @aligned_alloc
// CHECK: llvm.call @memmove([[P]], [[T]],
// CHECK: llvm.store [[P]], %out
// CHECK: [[Q:%\S+]] = llvm.call @aligned_alloc
// CHECK: llvm.call @memmove([[Q]], [[T]],
// CHECK: llvm.store [[Q]], %again
// CHECK: llvm.store [[T]], %third
// CHECK: llvm.return
func.func @copied(%n: index, %m: index, %out: memref<2xi64>, %again: memref<2xi64>, %third: memref<2xi64>) {
  %t = memref.alloc(%n) : memref<?xf64>
  func.call @nestor_hand_over.f64.1(%t, %out, %m) : (memref<?xf64>, memref<2xi64>, index) -> ()
  func.call @nestor_hand_over.f64.1(%t, %again, %n) : (memref<?xf64>, memref<2xi64>, index) -> ()
  func.call @nestor_hand_over.f64.1(%t, %third, %n) : (memref<?xf64>, memref<2xi64>, index) -> ()
  func.return
}

// A write behind it could be to the same memory.
// CHECK-LABEL: llvm.func internal @written.kernel
// CHECK: [[T:%\S+]] = llvm.call @aligned_alloc
// CHECK: llvm.call @memmove
// CHECK: llvm.call @free([[T]])
func.func @written(%n: index, %out: memref<2xi64>, %v: f64) {
  %c0 = arith.constant 0 : index
  %t = memref.alloc(%n) : memref<?xf64>
  func.call @nestor_hand_over.f64.1(%t, %out, %n) : (memref<?xf64>, memref<2xi64>, index) -> ()
  memref.store %v, %t[%c0] : memref<?xf64>
  func.return
}
