// A factor that there is not.
// RUN: not opt-tool %s -p 'nest-online-softmax{rows=i product=i.1 factor=0}' 2>&1 | filecheck %s

// CHECK: error: cannot compute the softmax "i" with its product "i.1" block by block: the factor is 0, and must be positive
func.func @f() {
  nest.for "i" %i = 0 to 5 {
  }
  nest.for "i.1" %i = 0 to 5 {
  }
  func.return
}
