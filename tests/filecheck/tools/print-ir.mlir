// IR dumps go to standard error under mlir-opt's headers, so that standard output stays the result.
// RUN: opt-tool %s -p cse,canonicalize --print-ir-after-all 2>&1 >/dev/null | filecheck %s --check-prefix=ALL
// RUN: opt-tool %s -p cse,canonicalize --print-ir-after-change 2>&1 >/dev/null | filecheck %s --check-prefix=CHANGE
// RUN: opt-tool %s -p cse,canonicalize --print-ir-before=canonicalize --print-ir-after=cse,dce 2>&1 >/dev/null | filecheck %s --check-prefix=SOME
// RUN: opt-tool %s -p cse --print-ir-after-all 2>/dev/null | filecheck %s --check-prefix=OUT

// ALL:      // -----// IR Dump After cse //----- //
// ALL-NEXT: builtin.module {
// ALL:      // -----// IR Dump After canonicalize //----- //
// ALL-NEXT: builtin.module {

// CHANGE:     IR Dump After cse
// CHANGE-NOT: IR Dump

// SOME:     IR Dump After cse
// SOME:     IR Dump Before canonicalize
// SOME-NOT: IR Dump

// OUT-NOT: Dump
// OUT: func.func @f
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}
