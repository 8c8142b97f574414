// What is known to need 64-bit indices has them, whatever is asked for: a large buffer, a large number in a bound.
// RUN: opt-tool %s -p 'convert-nest-to-gpu{index-bits=32}' --split-input-file | filecheck %s

// CHECK: gpu.module @buffer_kernels attributes {nestor.index_bits = 64 : i64}
func.func @buffer(%x: f32, %y: memref<4294967297xf32>) {
  nest.for "o" %o = 0 to 16777217 bind "block.x" {
    nest.for "i" %i = 0 to min(256, 4294967297 - 256 * %o) bind "thread.x" {
      nest.store "y" %x, %y[256 * %o + %i] : memref<4294967297xf32>
    }
  }
  func.return
}

// -----

// CHECK: gpu.module @number_kernels attributes {nestor.index_bits = 64 : i64}
func.func @number(%x: f32, %n: index, %y: memref<?xf32>) {
  nest.for "i" %i = 0 to min(256, %n - 2147483648) bind "thread.x" {
    nest.store "y" %x, %y[%i + 2147483648] : memref<?xf32>
  }
  func.return
}

// -----

// A long loop that was split: its parts are small, `1024 * %o` is not.
// CHECK: gpu.module @parts_kernels attributes {nestor.index_bits = 64 : i64}
func.func @parts(%x: f32, %y: memref<4096xf32>) {
  nest.for "o" %o = 0 to 4194304 bind "block.x" {
    nest.for "i" %i = 0 to 1024 bind "thread.x" {
      nest.store "y" %x, %y[(1024 * %o + %i) floordiv 1048576] : memref<4096xf32>
    }
  }
  func.return
}

// -----

// CHECK: gpu.module @small_kernels attributes {nestor.index_bits = 32 : i64}
func.func @small(%x: f32, %n: index, %y: memref<?xf32>) {
  nest.for "i" %i = 0 to min(256, %n) bind "thread.x" {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  func.return
}
