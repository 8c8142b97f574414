// Every rule that a loop must keep.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @name(%n: index) {
  // expected-error @below {{a loop needs a name}}
  nest.for "" %i = 0 to %n {
  }
  func.return
}

// -----

func.func @step(%n: index) {
  // expected-error @below {{the step is 0, it must be positive}}
  nest.for "i" %i = 0 to %n step 0 {
  }
  func.return
}

// -----

func.func @width(%n: index) {
  // expected-error @below {{the width must be positive}}
  nest.for "i" %i = 0 to %n vectorized(0) {
  }
  func.return
}

// -----

func.func @axis(%n: index) {
  // expected-error @below {{unknown mark 'warp.x'; one of serial, parallel, vectorized, unrolled, block.x, block.y, block.z, thread.x, thread.y, thread.z}}
  nest.for "i" %i = 0 to %n bind "warp.x" {
  }
  func.return
}

// -----

func.func @mark(%n: index) {
  // expected-error @below {{a width goes with the mark vectorized, and only with it}}
  "nest.for"(%n) <{loop_name = "i", lower_map = affine_map<() -> (0)>, upper_map = affine_map<(d0) -> (d0)>, step = 1 : index, mark = "parallel", width = 16 : i64, operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%i: index):
  }) : (index) -> ()
  func.return
}

// -----

func.func @bounds(%n: index) {
  // expected-error @below {{both bounds are required}}
  "nest.for"() <{loop_name = "i", lower_map = affine_map<() -> (0)>, upper_map = affine_map<() -> ()>, step = 1 : index, operandSegmentSizes = array<i32: 0, 0>}> ({
  ^bb0(%i: index):
  }) : () -> ()
  func.return
}

// -----

func.func @variable(%n: index) {
  // expected-error @below {{the body takes exactly one argument of type index}}
  "nest.for"() <{loop_name = "i", lower_map = affine_map<() -> (0)>, upper_map = affine_map<() -> (4)>, step = 1 : index, operandSegmentSizes = array<i32: 0, 0>}> ({
  ^bb0(%i: i32):
  }) : () -> ()
  func.return
}

// -----

func.func @operands(%n: index) {
  // expected-error @below {{the lower bound has 1 operands but its map takes 0 dimensions and 0 symbols; expected one dimension an operand}}
  "nest.for"(%n) <{loop_name = "i", lower_map = affine_map<() -> (0)>, upper_map = affine_map<() -> (4)>, step = 1 : index, operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%i: index):
  }) : (index) -> ()
  func.return
}

// -----

func.func @symbols(%n: index) {
  // expected-error @below {{the upper bound has 1 operands but its map takes 0 dimensions and 1 symbols; expected one dimension an operand}}
  "nest.for"(%n) <{loop_name = "i", lower_map = affine_map<() -> (0)>, upper_map = affine_map<()[s0] -> (s0)>, step = 1 : index, operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%i: index):
  }) : (index) -> ()
  func.return
}

// -----

func.func @division(%n: index) {
  // expected-error @below {{the upper bound is not affine: 'floordiv' needs a positive constant on its right}}
  "nest.for"(%n) <{loop_name = "i", lower_map = affine_map<() -> (0)>, upper_map = affine_map<(d0) -> (d0 floordiv 0)>, step = 1 : index, operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%i: index):
  }) : (index) -> ()
  func.return
}
