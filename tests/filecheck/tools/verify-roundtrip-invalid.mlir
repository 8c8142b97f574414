// `--verify-roundtrip` shows the operation and the first line that printing and parsing change.
// RUN: not opt-tool %s --verify-roundtrip 2>&1 | filecheck %s

// CHECK:      :15:5: error: roundtrip failed: the custom form parses to different IR
// CHECK-NEXT:   scf.yield {lost}
// CHECK:      note: before: "scf.yield"() {lost} : () -> ()
// CHECK-NEXT: note: after: "scf.yield"() : () -> ()
func.func @f(%n: index) {
  "scf.for"(%n, %n, %n) ({
  ^bb0(%k: index):
    "test.op"(%k) : (index) -> ()
    scf.yield
  }) : (index, index, index) -> ()
  scf.for %i = %n to %n step %n {
    scf.yield {lost}
  }
  func.return
}
