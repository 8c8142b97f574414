// `-t cuda-sim-report` runs kernels in the CUDA simulator, and tells their faults and what their memory accesses cost.
// RUN: opt-tool %s -t cuda-sim-report --entry=column --extents n=64 | filecheck %s --check-prefix=STRIDED
// RUN: not opt-tool %s -t cuda-sim-report --entry=halves | filecheck %s --check-prefix=RACE
// RUN: not opt-tool %s -t cuda-sim-report --entry=halves -o %t.json
// RUN: python -c "import json; r = json.load(open('%t.json')); print([f['kind'] for f in r['faults']], r['profile']['totals'])" | filecheck %s --check-prefix=JSON

// A thread a row: the lanes of a warp read from as many sectors.
// STRIDED: kernel column_kernel: 1 launch of 1 blocks x 64 threads, 100% of lanes active
// STRIDED-NEXT: line access bytes requests lanes sectors ideal ways
// STRIDED-NEXT: load x 4 2 32.0 32.00 4.00 - const float {{.*}} = x[
// STRIDED-NEXT: store sums 4 2 32.0 4.00 4.00 - sums[
// STRIDED: array size read written moved compulsory
// STRIDED-NEXT: x 2.82 kB 0.73x - 2.05 kB 256 B
// STRIDED-NEXT: sums 256 B - 1.00x 256 B 256 B
// STRIDED: column: 1 launch; compulsory 512 B, moved 4.50x, requested 4.50x; sectors 4.50x ideal; shared memory 1.00-way

// RACE: fault in kernel halves_kernel: race on shared memory: tile[
// RACE-NEXT: read by thread {{.*}} of block 0 kernels.cu:{{.*}}: out[t] = tile[63 - t];
// RACE-NEXT: write by thread {{.*}} of block 0 kernels.cu:{{.*}}: tile[t] = x[t];
// RACE: kernel halves_kernel
// RACE: load tile {{.*}} 1.00 out[t] = tile[63 - t];
// JSON: {{.*}}'race'{{.*}} {'requested': 512, 'moved': 512, 'compulsory': 512,

module attributes {gpu.container_module} {
  func.func @column(%x: memref<?x11xf32>, %sums: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @k::@column_kernel blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%x : memref<?x11xf32>, %sums : memref<?xf32>)
    func.return
  }
  func.func @halves(%x: memref<64xf32>, %out: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    gpu.launch_func @k::@halves_kernel blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%x : memref<64xf32>, %out : memref<64xf32>)
    func.return
  }
  gpu.module @k attributes {nestor.index_bits = 32 : i64} {
    gpu.func @column_kernel(%x: memref<?x11xf32> {nestor.noalias, nest.dims = ["n", 11]},
                            %sums: memref<?xf32> {nestor.noalias, nest.dims = ["n"]}) kernel {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %n = memref.dim %x, %c0 : memref<?x11xf32>
      %i = gpu.thread_id x
      %0 = arith.cmpi slt, %i, %n : index
      scf.if %0 {
        %1 = memref.load %x[%i, %c3] : memref<?x11xf32>
        %2 = arith.addf %1, %1 : f32
        memref.store %2, %sums[%i] : memref<?xf32>
      }
      gpu.return
    }
    gpu.func @halves_kernel(%x: memref<64xf32> {nestor.noalias}, %out: memref<64xf32> {nestor.noalias}) kernel {
      %c63 = arith.constant 63 : index
      %t = gpu.thread_id x
      %tile = memref.alloca() : memref<64xf32, 3>
      %0 = memref.load %x[%t] : memref<64xf32>
      memref.store %0, %tile[%t] : memref<64xf32, 3>
      %1 = arith.subi %c63, %t : index
      %2 = memref.load %tile[%1] : memref<64xf32, 3>
      memref.store %2, %out[%t] : memref<64xf32>
      gpu.return
    }
  }
}
