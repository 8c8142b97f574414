// Axes and factors that there are not.
// RUN: not opt-tool %s -p 'nest-fold-buffer{buffer=u factor=0}' 2>&1 | filecheck %s --check-prefix=FACTOR
// RUN: not opt-tool %s -p 'nest-fold-buffer{buffer=u dimension=2 factor=2}' 2>&1 | filecheck %s --check-prefix=AXIS

// FACTOR: error: cannot fold the buffer "u": the factor is 0, it must be positive
// AXIS: error: cannot fold the buffer "u": it has no dimension 2
// AXIS: its dimensions are 0 to 1
func.func @f() {
  %u = nest.alloc "u" : memref<4x4xf32>
  func.return
}
