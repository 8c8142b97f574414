// Local memory is that of a thread, a kernel makes no global memory, and other spaces do not exist.
// RUN: not opt-tool %s -p 'nest-set-memory{buffer=u space=local func=threads}' 2>&1 | filecheck %s --check-prefix=LOCAL
// RUN: not opt-tool %s -p 'nest-set-memory{buffer=u space=local func=parallel}' 2>&1 | filecheck %s --check-prefix=PARALLEL
// RUN: not opt-tool %s -p 'nest-set-memory{buffer=u space=global func=kernel}' 2>&1 | filecheck %s --check-prefix=GLOBAL
// RUN: not opt-tool %s -p 'nest-set-memory{buffer=u space=fast func=kernel}' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not opt-tool %s -p 'nest-set-memory{buffer=u space=local}' 2>&1 | filecheck %s --check-prefix=NAME

// LOCAL: error: cannot move the buffer "u" to local memory: local memory is that of a thread, and threads would use it together
// LOCAL: note: the loop "t" is bound to thread.x
// PARALLEL: error: cannot move the buffer "u" to local memory: local memory is that of a thread, and threads would use it together
// PARALLEL: note: the loop "p" is parallel
// GLOBAL: error: cannot move the buffer "u" to global memory: a kernel allocates no global memory
// GLOBAL: note: the loop "b" is bound to block.x
// NONE: error: option 'space' of pass 'nest-set-memory' expects one of 'global', 'shared', 'local', got 'fast'
// NAME: error: there are 3 buffers called "u"
func.func @threads(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %u = nest.alloc "u" : memref<8xf32>
  nest.for "t" %t = 0 to 8 bind "thread.x" {
    nest.store "u" %zero, %u[%t] : memref<8xf32>
  }
  func.return
}

func.func @parallel(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %u = nest.alloc "u" : memref<8xf32>
  nest.for "p" %t = 0 to 8 parallel {
    nest.store "u" %zero, %u[%t] : memref<8xf32>
  }
  func.return
}

func.func @kernel(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  nest.for "b" %t = 0 to 8 bind "block.x" {
    %u = nest.alloc "u" : memref<f32>
    nest.store "u" %zero, %u[] : memref<f32>
  }
  func.return
}
