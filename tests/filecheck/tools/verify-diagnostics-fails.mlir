// `--verify-diagnostics` fails when a diagnostic is missing, is not expected, or an expectation cannot be read.
// RUN: not opt-tool %s --split-input-file --verify-diagnostics --load-pass-plugin=%S/Inputs/test_passes.py -p test-remark 2>&1 | filecheck %s
// RUN: not opt-tool %s --split-input-file --verify-diagnostics --load-pass-plugin=%S/Inputs/test_passes.py -p test-remark 2>&1 | filecheck %s --check-prefix=COUNT

// CHECK:     :7:6: error: expected error "never said" was not produced
func.func @missing(%x: i32) {
  // expected-error @below {{never said}}
  %a = arith.constant 1 : i32
  func.return
}

// -----

// CHECK:     :16:8: error: unexpected remark: this adds
func.func @unexpected(%x: i32) {
  %a = arith.addi %x, %x : i32
  func.return
}

// -----

// CHECK:     :26:3: error: malformed expected-... comment
// CHECK:     :28:8: error: unexpected remark: this adds
// CHECK:     :27:6: error: expected remark "this subtracts" was not produced
func.func @other_text(%x: i32) {
  // expected-remark {this subtracts}
  // expected-remark @below {{this subtracts}}
  %a = arith.addi %x, %x : i32
  func.return
}

// -----

// CHECK:     :38:8: error: unexpected remark: this adds
// CHECK:     :37:6: error: expected error "this adds" was not produced
func.func @other_kind(%x: i32) {
  // expected-error @below {{this adds}}
  %a = arith.addi %x, %x : i32
  func.return
}

// COUNT-COUNT-7: error: {{(unexpected|expected|malformed)}}
// COUNT-NOT: error:
