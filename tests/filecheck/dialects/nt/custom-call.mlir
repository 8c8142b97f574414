// Calls of Python by name: operands, results, sizes, what else the function is given; calls that stay, and equal ones that are one.
// RUN: opt-tool %s --verify-roundtrip | filecheck %s
// RUN: opt-tool %s -p canonicalize,cse | filecheck %s --check-prefix=CSE

// CHECK-LABEL: func.func @calls
// CSE-LABEL: func.func @calls
func.func @calls(%x: tensor<?xf32>, %a: tensor<3x3xf64>) -> (tensor<?xf32>, tensor<?xf32>) {
  %n = nt.dim %x[0] : tensor<?xf32>
  // CHECK: %y = nt.custom_call "numpy.sort"(%x) sizes(%n) {axis = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  // CSE: nt.custom_call "numpy.sort"
  %y = nt.custom_call "numpy.sort"(%x) sizes(%n) {axis = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  // CSE-NOT: "numpy.sort"
  %z = nt.custom_call "numpy.sort"(%x) sizes(%n) {axis = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  // CHECK: %s, %l = nt.custom_call "numpy.linalg.slogdet"(%a) attributes {note = 1 : i64} : (tensor<3x3xf64>) -> (tensor<f64>, tensor<f64>)
  // CSE-NOT: slogdet
  %s, %l = nt.custom_call "numpy.linalg.slogdet"(%a) attributes {note = 1 : i64} : (tensor<3x3xf64>) -> (tensor<f64>, tensor<f64>)
  // CHECK: nt.custom_call ordered "numpy.linalg.inv"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  // CSE: nt.custom_call ordered "numpy.linalg.inv"
  %i = nt.custom_call ordered "numpy.linalg.inv"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  // CSE-NEXT: nt.custom_call ordered "numpy.linalg.inv"
  %j = nt.custom_call ordered "numpy.linalg.inv"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  // CHECK: nt.custom_call ordered "program.note"() : () -> ()
  nt.custom_call ordered "program.note"() : () -> ()
  func.return %y, %z : tensor<?xf32>, tensor<?xf32>
}

// Code of the user's: its text is in the call.
// CHECK-LABEL: func.func @code
// CSE-LABEL: func.func @code
func.func @code(%x: tensor<4xf64>, %by: tensor<f64>) -> (tensor<4xf64>, tensor<4xf64>) {
  // CHECK: %y = nt.custom_call "prog.f"(%x, %by) {entry = "f", kinds = ["array", "float"], language = "c", several = false, source = "void f();\0A"} : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  // CSE: "prog.f"
  %y = nt.custom_call "prog.f"(%x, %by) {entry = "f", kinds = ["array", "float"], language = "c", several = false, source = "void f();\n"} : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  // CSE-NOT: "prog.f"
  %z = nt.custom_call "prog.f"(%x, %by) {entry = "f", kinds = ["array", "float"], language = "c", several = false, source = "void f();\n"} : (tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
  // CSE-NEXT: func.return %y, %y
  func.return %y, %z : tensor<4xf64>, tensor<4xf64>
}
