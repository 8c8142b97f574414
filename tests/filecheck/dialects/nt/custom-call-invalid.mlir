// One case for every rule of nt.custom_call.
// RUN: opt-tool %s --split-input-file --verify-diagnostics

func.func @nameless(%x: tensor<4xf32>) {
  // expected-error @below {{the name of the function is empty}}
  %0 = nt.custom_call ""(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @element(%x: tensor<4xindex>) {
  // expected-error @below {{index is not an element type of nt}}
  %0 = nt.custom_call "f"(%x) : (tensor<4xindex>) -> tensor<4xf32>
  func.return
}

// -----

func.func @sizes(%x: tensor<?xf32>) {
  // expected-error @below {{0 sizes for the 1 unknown extents of its results}}
  %0 = nt.custom_call "f"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return
}

// -----

func.func @useless(%x: tensor<4xf32>) {
  // expected-error @below {{a call without results has a purpose only if it is ordered}}
  nt.custom_call "f"(%x) : (tensor<4xf32>) -> ()
  func.return
}

// -----

func.func @types(%x: tensor<4xf32>) {
  // expected-error @below {{1 operands but 0 types}}
  nt.custom_call ordered "f"(%x) : () -> ()
  func.return
}

// -----

func.func @no_text(%x: tensor<4xf32>) {
  // expected-error @below {{code has a language, an entry and a source; no source is given}}
  %0 = nt.custom_call "f"(%x) {language = "c", entry = "f", kinds = ["array"]} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @language(%x: tensor<4xf32>) {
  // expected-error @below {{no code is in "ada"; languages: c, llvm}}
  %0 = nt.custom_call "f"(%x) {language = "ada", entry = "f", kinds = ["array"], source = "..."} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @kinds(%x: tensor<4xf32>) {
  // expected-error @below {{`kinds` of code says how each operand is given to it}}
  %0 = nt.custom_call "f"(%x) {language = "llvm", entry = "f", kinds = [], source = "..."} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @effect(%x: tensor<4xf32>) {
  // expected-error @below {{code fills its results and has no other effect: it is not ordered}}
  %0 = nt.custom_call ordered "f"(%x) {language = "c", entry = "f", kinds = ["array"], source = "..."} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @kernel(%x: tensor<4xf32>) {
  // expected-error @below {{a kernel has an entry and a source; no source is given}}
  %0 = nt.custom_call "f"(%x) {kinds = ["array"], cuda = {entry = "f", grid = [], block = [256 : i64]}} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @geometry(%x: tensor<4xf32>) {
  // expected-error @below {{a kernel has a `grid` and a `block`}}
  %0 = nt.custom_call "f"(%x) {kinds = ["array"], cuda = {entry = "f", source = "..."}} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @axes(%x: tensor<4xf32>) {
  // expected-error @below {{a grid and a block have at most three axes}}
  %0 = nt.custom_call "f"(%x) {kinds = ["array"], cuda = {entry = "f", source = "...", grid = [], block = []}} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @no_dictionary(%x: tensor<4xf32>) {
  // expected-error @below {{`cuda` is a dictionary}}
  %0 = nt.custom_call "f"(%x) {kinds = ["array"], cuda = "..."} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
