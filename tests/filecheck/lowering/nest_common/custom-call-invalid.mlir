// Kernels call no Python.
// RUN: opt-tool %s -p cuda --verify-diagnostics

func.func @sorted(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{calls Python: program.f, which a GPU cannot}}
  %y = nt.custom_call "program.f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
