// Uses that their definitions do not dominate.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @before(%x: i32) {
  // expected-error @below {{operand #1 (%b) does not dominate this use}}
  %a = arith.addi %x, %b : i32
  // expected-note @below {{operand defined here}}
  %b = arith.addi %x, %x : i32
  func.return
}

// -----

func.func @one_branch(%c: i1) -> i32 {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  // expected-note @below {{operand defined here}}
  %a = arith.constant 1 : i32
  cf.br ^bb2
^bb2:
  // expected-error @below {{operand #0 (%a) does not dominate this use}}
  func.return %a : i32
}

// -----

// expected-note @below {{operand defined here}}
func.func @block_argument(%c: i1) -> i32 {
  %z = arith.constant 0 : i32
  cf.cond_br %c, ^bb1(%z : i32), ^bb2
^bb1(%a: i32):
  cf.br ^bb2
^bb2:
  // expected-error @below {{operand #0 (%a) does not dominate this use}}
  func.return %a : i32
}

// -----

func.func @inside_itself(%c: i1) {
  // expected-note @below {{operand defined here}}
  %r = scf.if %c -> (i32) {
    // expected-error @below {{operand #0 (%r) does not dominate this use}}
    scf.yield %r : i32
  } else {
    %k = arith.constant 0 : i32
    scf.yield %k : i32
  }
  func.return
}

// -----

func.func @other_function() -> i32 {
  // expected-error @below {{operand #0 (%v) does not dominate this use}}
  func.return %v : i32
}
func.func @owner() {
  // expected-note @below {{operand defined here}}
  %v = arith.constant 1 : i32
  func.return
}

// -----

func.func @two_errors(%x: i32) {
  // expected-error @below {{operand #0 (%b) does not dominate this use}}
  %a = arith.addi %b, %x : i32
  // expected-note @below {{operand defined here}}
  %b = arith.addi %x, %x : i32
  // expected-error @below {{operand #0 (%d) does not dominate this use}}
  %c = arith.addi %d, %x : i32
  // expected-note @below {{operand defined here}}
  %d = arith.addi %x, %x : i32
  func.return
}
