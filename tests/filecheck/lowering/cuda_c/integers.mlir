// NumPy integers wrap around: signed overflow is done in unsigned, narrow results are cast back, and
// booleans are bytes in memory.
// RUN: opt-tool %s -t cuda | filecheck %s

// CHECK: const int *a, const signed char *flag, const long long *wide, int *out, signed char *mask) {
// CHECK: const int h = (int)(a_i * 31u + 7);
// CHECK-NEXT: const int q = (int)(a_i / 10u);
// CHECK-NEXT: const int lo = min(a_i, 5);
// CHECK-NEXT: const long long w = (long long)((unsigned long long)wide[i] << 3);
// CHECK-NEXT: const bool picked = (flag[i] & 1) != 0 && (a_i > 3 || (unsigned)a_i >= 9u);
// CHECK-NEXT: const int r = picked ? h : (int)(nt_floor_div(lo, 3) + (unsigned)w);

module attributes {gpu.container_module} {
  func.func @integers(%a: memref<100xi32>, %flag: memref<100xi8>, %wide: memref<100xi64>,
                      %out: memref<100xi32>, %mask: memref<100xi8>) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @k::@integers blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%a : memref<100xi32>, %flag : memref<100xi8>, %wide : memref<100xi64>,
             %out : memref<100xi32>, %mask : memref<100xi8>)
    func.return
  }
  gpu.module @k attributes {nestor.index_bits = 32 : i64} {
    gpu.func @integers(%a: memref<100xi32>, %flag: memref<100xi8>, %wide: memref<100xi64>,
                       %out: memref<100xi32>, %mask: memref<100xi8>) kernel {
      %c100 = arith.constant 100 : index
      %c3_i64 = arith.constant 3 : i64
      %c3 = arith.constant 3 : i32
      %c5 = arith.constant 5 : i32
      %c7 = arith.constant 7 : i32
      %c9 = arith.constant 9 : i32
      %c10 = arith.constant 10 : i32
      %c31 = arith.constant 31 : i32
      %true = arith.constant true
      %i = gpu.thread_id x
      %0 = arith.cmpi slt, %i, %c100 : index
      scf.if %0 {
        %1 = memref.load %a[%i] : memref<100xi32>
        %2 = arith.muli %1, %c31 : i32
        %h = arith.addi %2, %c7 : i32
        %q = arith.divui %1, %c10 : i32
        %lo = arith.minsi %1, %c5 : i32
        %3 = memref.load %wide[%i] : memref<100xi64>
        %w = arith.shli %3, %c3_i64 : i64
        %4 = memref.load %flag[%i] : memref<100xi8>
        %5 = arith.trunci %4 : i8 to i1
        %6 = arith.cmpi sgt, %1, %c3 : i32
        %7 = arith.cmpi ult, %1, %c9 : i32
        %8 = arith.xori %7, %true : i1
        %9 = arith.ori %6, %8 : i1
        %picked = arith.andi %5, %9 : i1
        %10 = arith.floordivsi %lo, %c3 : i32
        %11 = arith.trunci %w : i64 to i32
        %12 = arith.addi %10, %11 : i32
        %r = arith.select %picked, %h, %12 : i32
        %13 = arith.xori %r, %q : i32
        memref.store %13, %out[%i] : memref<100xi32>
        %14 = arith.extui %picked : i1 to i8
        memref.store %14, %mask[%i] : memref<100xi8>
      }
      gpu.return
    }
  }
}
