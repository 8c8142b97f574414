// `--pass-pipeline` takes mlir-opt's anchored form; a nested pipeline runs on each operation alone, here on two functions.
// RUN: opt-tool %s --load-pass-plugin=%S/Inputs/test_passes.py --pass-pipeline='builtin.module(func.func(test-count-functions,cse),test-count-functions)' --print-ir-after=cse 2>&1 | filecheck %s
// RUN: opt-tool %s --pass-pipeline='builtin.module(gpu.module(gpu.func(cse)))' | filecheck %s --check-prefix=GPU

// CHECK: :{{[0-9]+}}:1: remark: 1 functions
// CHECK: IR Dump After cse ('func.func' @f)
// CHECK: :{{[0-9]+}}:1: remark: 1 functions
// CHECK: IR Dump After cse ('func.func' @g)
// CHECK: remark: 2 functions
// CHECK: builtin.module {
// CHECK-NEXT:  func.func @f
// CHECK-NEXT:    %[[A:.*]] = arith.addi
// CHECK-NEXT:    arith.muli %[[A]], %[[A]]
// CHECK: gpu.module
// CHECK-COUNT-2: arith.addi
// CHECK: func.func @g

// GPU-LABEL:  func.func @f
// GPU-COUNT-2:  arith.addi
// GPU-LABEL:  gpu.module
// GPU:          %[[A:.*]] = arith.addi
// GPU-NEXT:     arith.muli %[[A]], %[[A]]
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}
"gpu.module"() ({
  "gpu.func"() ({
  ^bb0(%x: i32):
    %a = arith.addi %x, %x : i32
    %b = arith.addi %x, %x : i32
    %c = arith.muli %a, %b : i32
    "test.op"(%c) : (i32) -> ()
    "gpu.return"() : () -> ()
  }) {sym_name = "k", function_type = (i32) -> ()} : () -> ()
}) {sym_name = "kernels"} : () -> ()
func.func @g() {
  func.return
}
