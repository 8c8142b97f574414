// Windows that do not have every access in them, or that there are not.
// RUN: not opt-tool %s -p 'nest-resize-buffer{buffer=u size=3}' 2>&1 | filecheck %s --check-prefix=SHORT
// RUN: not opt-tool %s -p 'nest-resize-buffer{buffer=u size=8 offset=2}' 2>&1 | filecheck %s --check-prefix=SHORT
// RUN: not opt-tool %s -p 'nest-resize-buffer{buffer=u size=-1}' 2>&1 | filecheck %s --check-prefix=NEGATIVE

// SHORT: error: cannot resize the buffer "u": an index along dimension 0 is not proved to be in the window
// SHORT: note: the access is here
// NEGATIVE: error: cannot resize the buffer "u": the size is -1, it must not be negative
func.func @f(%x: memref<8xf32>) {
  %u = nest.alloc "u" : memref<8xf32>
  nest.for "i" %i = 1 to 5 {
    %a = nest.load %x[%i] : memref<8xf32>
    nest.store "u" %a, %u[%i] : memref<8xf32>
  }
  func.return
}
