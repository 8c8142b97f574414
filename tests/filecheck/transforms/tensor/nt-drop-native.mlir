// Code with a decomposition beside it: GPUs take the decomposition, in regions too; others the code, and nothing is left of the rest.
// RUN: opt-tool %s -p nt-drop-native | filecheck %s
// RUN: opt-tool %s -p nt-decompose,canonicalize | filecheck %s --check-prefix=CPU
// RUN: opt-tool %s -p nt-drop-native,nt-decompose,canonicalize | filecheck %s --check-prefix=GPU

// CHECK-LABEL: @chosen
// CHECK-NOT: nt.custom_call
// CHECK: [[D:%\S+]] = nt.multiply %x, %x
// CHECK-NEXT: func.return [[D]]
// CPU-LABEL: @chosen
// CPU-NEXT: [[C:%\S+]] = nt.custom_call "prog.square"(%x)
// CPU-NEXT: func.return [[C]]
func.func @chosen(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = nt.custom_call "prog.square"(%x) {entry = "square", kinds = ["array"], language = "c", several = false, source = "..."} : (tensor<4xf64>) -> tensor<4xf64>
  %1 = nt.multiply %x, %x : tensor<4xf64>
  %y = nt.composite "square"(%0, %1 : tensor<4xf64>, tensor<4xf64>) attributes {nt.native} -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf64>, %b: tensor<4xf64>):
    nt.yield %b : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}

// A call whose result is used otherwise stays; composites of others are left alone.
// CHECK-LABEL: @used
// CHECK-NEXT: [[C:%\S+]] = nt.custom_call "prog.square"(%x)
// CHECK-NEXT: [[D:%\S+]] = nt.multiply %x, %x
// CHECK-NEXT: [[E:%\S+]] = nt.composite "other"
// CHECK: func.return [[C]], [[D]], [[E]]
func.func @used(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %0 = nt.custom_call "prog.square"(%x) {entry = "square", kinds = ["array"], language = "llvm", several = false, source = "..."} : (tensor<4xf64>) -> tensor<4xf64>
  %1 = nt.multiply %x, %x : tensor<4xf64>
  %y = nt.composite "square"(%0, %1 : tensor<4xf64>, tensor<4xf64>) attributes {nt.native} -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf64>, %b: tensor<4xf64>):
    nt.yield %b : tensor<4xf64>
  }
  %z = nt.composite "other"(%x : tensor<4xf64>) -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf64>):
    nt.yield %a : tensor<4xf64>
  }
  func.return %0, %y, %z : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}

// A kernel beside a decomposition is for GPUs: derivatives are those of the decomposition, so that nt-decompose chooses.
// CHECK-LABEL: @kernel
// CHECK: nt.composite "square"{{.*}}attributes {nt.native = "cuda"}
// CPU-LABEL: @kernel
// CPU-NEXT: [[D:%\S+]] = nt.multiply %x, %x
// CPU-NEXT: func.return [[D]]
// GPU-LABEL: @kernel
// GPU-NEXT: [[C:%\S+]] = nt.custom_call "prog.square"(%x)
// GPU: func.return [[C]]
func.func @kernel(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = nt.custom_call "prog.square"(%x) {kinds = ["array"], several = false, cuda = {entry = "square", source = "...", grid = [], block = [256 : i64]}} : (tensor<4xf64>) -> tensor<4xf64>
  %1 = nt.multiply %x, %x : tensor<4xf64>
  %y = nt.composite "square"(%0, %1 : tensor<4xf64>, tensor<4xf64>) attributes {nt.native} -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf64>, %b: tensor<4xf64>):
    nt.yield %b : tensor<4xf64>
  }
  func.return %y : tensor<4xf64>
}
