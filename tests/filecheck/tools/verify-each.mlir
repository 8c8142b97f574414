// The IR is verified after every pass, dominance included; `--no-verify` turns that off.
// RUN: not opt-tool %s --load-pass-plugin=%S/Inputs/test_passes.py -p test-break-dominance --print-ir-after-failure 2>&1 | filecheck %s
// RUN: opt-tool %s --load-pass-plugin=%S/Inputs/test_passes.py -p test-break-dominance --no-verify | filecheck %s --check-prefix=OFF

// CHECK:      IR Dump After test-break-dominance Failed //----- //
// CHECK-NEXT: "builtin.module"() ({
// CHECK:      :15:8: error: operand #0 (%a) does not dominate this use
// CHECK:      :14:8: note: operand defined here
// CHECK:      note: the IR was valid before pass 'test-break-dominance', which broke it

// OFF: arith.muli
// OFF: arith.addi
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.muli %a, %x : i32
  func.return %b : i32
}
