// Options that mean nothing are refused.
// RUN: not opt-tool %s -p "nest-outline-repeated{nests=0}" 2>&1 | filecheck %s --check-prefix=NESTS
// RUN: not opt-tool %s -p "nest-outline-repeated{saved=0}" 2>&1 | filecheck %s --check-prefix=SAVED

// NESTS: error: nests is 0; a positive number is expected
// SAVED: error: saved is 0; a positive number is expected
func.func @f() {
  func.return
}
