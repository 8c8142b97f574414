// Asynchronous copies, fragments and products of them read back as they are printed, in upstream's form.
// RUN: opt-tool %s | opt-tool | filecheck %s

gpu.module @m {
  gpu.func @k(%x: memref<64x64xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %s = memref.alloca() : memref<64x72xf16, 3>
    %sum = memref.alloca() : memref<4x2x2xf32>
    // CHECK:      [[A:%.*]] = nvgpu.device_async_copy %x[%c0, %c8], %s[%c8, %c0], 8 {bypassL1} : memref<64x64xf16> to memref<64x72xf16, 3 : i64>
    // CHECK-NEXT: [[B:%.*]] = nvgpu.device_async_copy %x[%c0, %c8], %s[%c8, %c0], 4, %c0 : memref<64x64xf16> to memref<64x72xf16, 3 : i64>
    %a = nvgpu.device_async_copy %x[%c0, %c8], %s[%c8, %c0], 8 {bypassL1} : memref<64x64xf16> to memref<64x72xf16, 3>
    %b = nvgpu.device_async_copy %x[%c0, %c8], %s[%c8, %c0], 4, %c0 : memref<64x64xf16> to memref<64x72xf16, 3>
    // CHECK-NEXT: [[G:%.*]] = nvgpu.device_async_create_group [[A]], [[B]]
    // CHECK-NEXT: nvgpu.device_async_wait [[G]] {numGroups = 1 : i32}
    %g = nvgpu.device_async_create_group %a, %b
    nvgpu.device_async_wait %g {numGroups = 1 : i32}
    // CHECK-NEXT: [[C:%.*]] = nvgpu.ldmatrix %s[%c0, %c8] {numTiles = 4 : i32, transpose = false} : memref<64x72xf16, 3 : i64> -> vector<4x2xf16>
    // CHECK-NEXT: [[D:%.*]] = nvgpu.ldmatrix %s[%c0, %c8] {numTiles = 2 : i32, transpose = true} : memref<64x72xf16, 3 : i64> -> vector<2x2xf16>
    %c = nvgpu.ldmatrix %s[%c0, %c8] {numTiles = 4 : i32, transpose = false} : memref<64x72xf16, 3> -> vector<4x2xf16>
    %d = nvgpu.ldmatrix %s[%c0, %c8] {numTiles = 2 : i32, transpose = true} : memref<64x72xf16, 3> -> vector<2x2xf16>
    %e = vector.load %sum[%c0, %c0, %c0] : memref<4x2x2xf32>, vector<2x2xf32>
    // CHECK:      nvgpu.mma.sync([[C]], [[D]], %e) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %f = nvgpu.mma.sync(%c, %d, %e) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    vector.store %f, %sum[%c0, %c0, %c0] : memref<4x2x2xf32>, vector<2x2xf32>
    gpu.return
  }
}
