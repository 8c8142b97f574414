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
