// Kernels whose text is the user's: the host launches them between the others, on as many blocks as their rule says.
// RUN: opt-tool %s -p nest-schedule-cuda,convert-nest-to-gpu,canonicalize,cse | filecheck %s
// RUN: opt-tool %s -p nest-schedule-cuda,convert-nest-to-gpu -t cuda | filecheck %s --check-prefix=CUDA

func.func private @prog.turned.1a2b3c4d(memref<?x?xf32>, memref<f32>, memref<?x?xf32>) attributes {nestor.custom_call = {
  target = "prog.turned", elements = [f32, f32, f32], inputs = 2 : i64, arguments = {kinds = ["array", "scalar"], several = false,
    cuda = {entry = "turned", grid = ["((d0_0 + 15) // 16)", "min(d0_1, 7)"], block = [16 : i64, 4 : i64],
      source = "#define BY by\nextern \"C\" __global__ void turned(const NT_T0 *x, int m, int n, float by, float *y, int64_t p, int64_t q) { y[0] = x[0] * BY; }"}}}}

// CHECK-LABEL: func.func @f
// CHECK-DAG: [[C16:%\S+]] = arith.constant 16 : index
// CHECK-DAG: [[C4:%\S+]] = arith.constant 4 : index
// CHECK-DAG: [[C15:%\S+]] = arith.constant 15 : index
// CHECK: gpu.launch_func @f_kernels::@f_kernel
// CHECK: [[M:%\S+]] = memref.dim
// CHECK: [[A:%\S+]] = arith.addi [[M]], [[C15]]
// CHECK: [[X:%\S+]] = arith.floordivsi [[A]], [[C16]]
// CHECK: [[Y:%\S+]] = arith.minsi
// CHECK: gpu.launch_func @f_kernels::@turned_1a2b3c4d blocks in ([[X]], [[Y]], {{.*}}) threads in ([[C16]], [[C4]], {{.*}}) args(%{{.*}} : memref<?x?xf32>, %{{.*}} : memref<f32>, %{{.*}} : memref<?x?xf32>)
// CHECK: gpu.func @turned_1a2b3c4d
// CHECK-SAME: nestor.own_kernel

// CUDA: extern "C" __global__ void __launch_bounds__(64) turned_1a2b3c4d(
// CUDA-NEXT: const float *__restrict__ x0_x,
// CUDA-NEXT: int x1_m,
// CUDA-NEXT: int x2_n,
// CUDA-NEXT: const float *__restrict__ x3_by,
// CUDA-NEXT: float *__restrict__ x4_y,
// CUDA-NEXT: long long x5_p,
// CUDA-NEXT: long long x6_q);
// CUDA-NEXT: #define NT_T0 float
// CUDA-NEXT: namespace nt_turned_1a2b3c4d {
// CUDA-NEXT: typedef long long int64_t;
// CUDA-NEXT: #define BY by
// CUDA-NEXT: __device__ void turned(const NT_T0 *x, int m, int n, float by, float *y, int64_t p, int64_t q) { y[0] = x[0] * BY; }
// CUDA-NEXT: }
// CUDA: nt_turned_1a2b3c4d::turned(
// CUDA: *x3_by,
// CUDA: #undef BY
// CUDA-NEXT: #undef NT_T0
func.func @f(%x: memref<?x?xf32>, %s: f32, %y: memref<?x?xf32> {nest.role = "out"}) {
  %t = nest.alloc "t" : memref<f32>
  nest.store "t" %s, %t[] : memref<f32>
  func.call @prog.turned.1a2b3c4d(%x, %t, %y) {nestor.kind = "CallError"} : (memref<?x?xf32>, memref<f32>, memref<?x?xf32>) -> ()
  func.return
}
