// The prefetch of the memref dialect reads back as it is printed, in upstream's form.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: @f
func.func @f(%x: memref<?x4xf32>, %i: index) {
  // CHECK: memref.prefetch %x[%i, %i], read, locality<3>, data : memref<?x4xf32>
  memref.prefetch %x[%i, %i], read, locality<3>, data : memref<?x4xf32>
  // CHECK-NEXT: memref.prefetch %x[%i, %i], write, locality<0>, instr {note} : memref<?x4xf32>
  memref.prefetch %x[%i, %i], write, locality<0>, instr {note} : memref<?x4xf32>
  func.return
}
