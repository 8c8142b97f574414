// Masked lanes of a small local buffer are blended, so that LLVM can keep it in registers; other buffers stay masked.
// RUN: opt-tool %s -p convert-nest-to-scf,canonicalize,cse | filecheck %s

// CHECK-LABEL: func.func @blended
// CHECK: [[T:%.+]] = memref.alloca
// CHECK: [[M:%.+]] = vector.create_mask
// CHECK: [[A:%.+]] = vector.maskedload %x
// CHECK: [[B:%.+]] = vector.load [[T]]
// CHECK: [[C:%.+]] = arith.select [[M]], [[A]], [[B]]
// CHECK: vector.store [[C]], [[T]]
// CHECK: [[D:%.+]] = vector.load [[T]]
// CHECK: [[E:%.+]] = arith.select [[M]], [[D]], %{{.+}}
// CHECK: vector.maskedstore %y{{.*}}, [[M]], [[E]]
func.func @blended(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %t = nest.alloc "t" : memref<2x16xf32>
  nest.for "v" %v = 0 to 16 vectorized(16) {
    %a = nest.load %x[%v] : memref<?xf32>
    nest.store "t" %a, %t[1, %v] where (%v < %n) : memref<2x16xf32>
  }
  nest.for "w" %v = 0 to 16 vectorized(16) {
    %a = nest.load %t[1, %v] : memref<2x16xf32>
    nest.store "y" %a, %y[%v] where (%v < %n) : memref<?xf32>
  }
  func.return
}

// Lanes that do not exist, a place that is not constant, and a buffer that other threads see.
// CHECK-LABEL: func.func @masked
// CHECK-NOT: arith.select
// CHECK-COUNT-3: vector.maskedstore
// CHECK-NOT: arith.select
func.func @masked(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %i: index) {
  %short = nest.alloc "short" : memref<12xf32>
  %table = nest.alloc "table" : memref<4x16xf32>
  %shared = nest.alloc "shared" : memref<16xf32>
  nest.for "v" %v = 0 to 16 vectorized(16) {
    %a = nest.load %x[%v] : memref<?xf32>
    nest.store "short" %a, %short[%v] where (%v < %n) : memref<12xf32>
    nest.store "table" %a, %table[%i, %v] where (%v < %n) : memref<4x16xf32>
  }
  nest.for "p" %p = 0 to 1 parallel {
    nest.for "v.1" %v = 0 to 16 vectorized(16) {
      %a = nest.load %x[%v] : memref<?xf32>
      nest.store "shared" %a, %shared[%v] where (%v < %n) : memref<16xf32>
    }
  }
  func.return
}
