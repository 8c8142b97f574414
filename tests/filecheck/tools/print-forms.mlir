// `--print-op-generic` and `--print-debuginfo`; an operation without a written location is located in the input.
// RUN: opt-tool %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: opt-tool %s --print-debuginfo | filecheck %s --check-prefix=DEBUG

// GENERIC:      "builtin.module"() ({
// GENERIC-NEXT:   "func.func"() <{sym_name = "f", function_type = (i32) -> i32}> ({
// GENERIC:          %a = "arith.addi"(%x, %x)

// DEBUG: %a = arith.addi %x, %x : i32 loc("{{.*}}print-forms.mlir":12:8)
// DEBUG: %b = arith.addi %a, %x : i32 loc("prog.py":12:9)
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %a, %x : i32 loc("prog.py":12:9)
  func.return %b : i32
}
