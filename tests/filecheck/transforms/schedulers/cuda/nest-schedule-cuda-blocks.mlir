// A function of several blocks holds no nests that are kernels: it is left as it is.
// RUN: opt-tool %s -p nest-schedule-cuda | filecheck %s

func.func @f(%x: memref<4xf32>) {
  // CHECK: cf.br ^bb1
  cf.br ^bb1
^bb1:
  func.return
}
