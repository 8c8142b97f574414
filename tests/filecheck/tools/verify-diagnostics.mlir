// `--verify-diagnostics` matches errors, notes, warnings and remarks by kind, line and text.
// RUN: opt-tool %s --split-input-file --verify-diagnostics --load-pass-plugin=%S/Inputs/test_passes.py -p test-remark,test-fail

func.func @every_kind(%x: i32) -> i32 {
  // expected-remark @below {{this adds}}
  // expected-note @below 2 {{this operand}}
  %a = arith.addi %x, %x : i32
  %b = arith.muli %a, %x : i32
  // expected-warning @above {{this multiplies}}
  // expected-error-re @above {{cannot {{mul[a-z]+}}}}
  func.return %b : i32
}

// -----

func.func @offsets(%x: i32) {
  // expected-remark @+2 {{this adds}}
  // expected-remark @+2 {{adds}}
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.addi %x, %x : i32 // expected-remark {{this adds}}
  func.return
}

// -----

// expected-error @+1 {{expected ':'}}
func.func @syntax(%x i32) {

// -----

func.func @verifier(%x: i32, %y: i64) {
  // expected-error @below {{'arith.addi' op operand 'rhs' at position 1 does not verify}}
  %a = "arith.addi"(%x, %y) : (i32, i64) -> i32
  func.return
}
