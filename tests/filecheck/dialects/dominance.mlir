// Definitions that dominate their uses: through regions, along the CFG, in loops, in dead code, and in any order at module level.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s

// CHECK-LABEL: func.func @diamond
func.func @diamond(%c: i1) -> i32 {
  %a = arith.constant 1 : i32
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  cf.br ^bb3(%a : i32)
^bb2:
  %b = arith.addi %a, %a : i32
  cf.br ^bb3(%b : i32)
^bb3(%r: i32):
  %s = arith.addi %r, %a : i32
  func.return %s : i32
}

// CHECK-LABEL: func.func @loop_in_any_text_order
func.func @loop_in_any_text_order(%c: i1) -> i32 {
  cf.br ^head
^exit:
  func.return %v : i32
^head:
  %v = arith.constant 1 : i32
  cf.cond_br %c, ^head, ^exit
}

// CHECK-LABEL: func.func @dead_code
func.func @dead_code() {
  func.return
^dead:
  %a = arith.addi %b, %b : i32
  cf.br ^dead2
^dead2:
  %b = arith.constant 1 : i32
  cf.br ^dead
}

// CHECK-LABEL: func.func @regions
func.func @regions(%c: i1, %x: i32) -> i32 {
  %r = scf.if %c -> (i32) {
    %y = arith.addi %x, %x : i32
    scf.yield %y : i32
  } else {
    scf.yield %x : i32
  }
  func.return %r : i32
}
