// Rules of upstream operations that xDSL does not check: what regions hand on, and the names of extents.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @no_values(%x: f32, %c: i1) -> f32 {
  // expected-error @below {{'scf.if' op has a region that gives (); it is to give (f32)}}
  %r = scf.if %c -> (f32) {
    scf.yield %x : f32
  } else {
  }
  func.return %r : f32
}

// -----

func.func @no_else(%x: f32, %c: i1) -> f32 {
  // expected-error @below {{'scf.if' op has results, and no else that gives them}}
  %r = scf.if %c -> (f32) {
    scf.yield %x : f32
  }
  func.return %r : f32
}

// -----

func.func @type(%x: f32, %y: f64, %c: i1) -> f32 {
  // expected-error @below {{'scf.if' op has a region that gives (f64); it is to give (f32)}}
  %r = scf.if %c -> (f32) {
    scf.yield %x : f32
  } else {
    scf.yield %y : f64
  }
  func.return %r : f32
}

// -----

func.func @condition(%x: f32, %c: i1) -> f32 {
  // expected-error @below {{'scf.while' op has a region that gives (f32, f32); it is to give (f32)}}
  %r = scf.while (%v = %x) : (f32) -> f32 {
    scf.condition(%c) %v, %v : f32, f32
  } do {
  ^bb0(%v: f32):
    scf.yield %v : f32
  }
  func.return %r : f32
}

// -----

func.func @body(%x: f32, %c: i1) -> f32 {
  // expected-error @below {{'scf.while' op has a region of arguments (); they are (f32)}}
  %r = scf.while (%v = %x) : (f32) -> f32 {
    scf.condition(%c) %v : f32
  } do {
    scf.yield %x : f32
  }
  func.return %r : f32
}

// -----

// expected-error @below {{has nest.dims = [] on an argument of type memref<?xf32>: it is a list of 1, one for each axis}}
func.func @dims(%x: memref<?xf32> {nest.dims = []}) {
  func.return
}

// -----

// The rules read what an operation must have, after it was found to have it.
func.func @no_function_type(%x: i32, %y: i64) {
  // expected-error @below {{'func.func' op expected 0 operands, but got 2}}
  %a = "func.func"(%x, %y) : (i32, i64) -> i32
  func.return
}

// -----

func.func @no_value() {
  // expected-error @below {{'arith.constant' op property 'value' expected}}
  %a = "arith.constant"() : () -> index
  func.return
}

// -----

func.func @no_axis(%x: memref<3xf32>) {
  // expected-error @below {{'memref.dim' op expected 2 operands, but got 1}}
  %a = "memref.dim"(%x) : (memref<3xf32>) -> index
  func.return
}

// -----

func.func @no_operands() {
  // expected-error @below {{'memref.dim' op expected 2 operands, but got 0}}
  %a = "memref.dim"() : () -> index
  func.return
}

// -----

func.func @no_regions(%c: i1) {
  // expected-error @below {{'scf.if' op expected 2 regions, but got 0}}
  "scf.if"(%c) : (i1) -> ()
  func.return
}

// -----

func.func @no_bounds() {
  // expected-error @below {{'scf.for' op expected at least 3 operands, but got 0}}
  "scf.for"() : () -> ()
  func.return
}

// -----

func.func @no_regions(%x: f32) {
  // expected-error @below {{'scf.while' op expected 2 regions, but got 0}}
  %r = "scf.while"(%x) : (f32) -> f32
  func.return
}

// -----

// expected-error @below {{expects a terminator in its region, but a block is empty}}
func.func @second_block(%x: f32) {
  cf.br ^bb1
^bb1:
}
