// Buffers that cannot have another extent, and why.
// RUN: opt-tool %s -p 'nest-resize-buffer{buffer=u}' --split-input-file --verify-diagnostics

// expected-error @below {{cannot resize the buffer "u": the caller made it}}
func.func @argument(%u: memref<4xf32>) {
  func.return
}

// -----

func.func @scalar() {
  // expected-error @below {{cannot resize the buffer "u": it has no dimension 0}}
  %u = nest.alloc "u" : memref<f32>
  func.return
}

// -----

func.func @in_no_loop() {
  // expected-error @below {{cannot resize the buffer "u": it is made in no loop whose window it could have}}
  %u = nest.alloc "u" : memref<4xf32>
  func.return
}

// -----

func.func @unused() {
  nest.for "i" %i = 0 to 4 {
    // expected-error @below {{cannot resize the buffer "u": nothing uses it}}
    %u = nest.alloc "u" : memref<4xf32>
  }
  func.return
}

// -----

func.func @all_used(%x: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 {
    // expected-error @below {{cannot resize the buffer "u": its dimension 0 has no more than is used}}
    %u = nest.alloc "u" : memref<4xf32>
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %x[%j] : memref<4xf32>
      nest.store "u" %a, %u[%j] : memref<4xf32>
    }
  }
  func.return
}

// -----

func.func @indices_that_are_read(%x: memref<4xindex>, %y: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 {
    // expected-error @below {{cannot resize the buffer "u": an index is computed inside the loop}}
    %u = nest.alloc "u" : memref<4xf32>
    nest.for "j" %j = 0 to 4 {
      %a = nest.load %y[%j] : memref<4xf32>
      %k = nest.load %x[%j] : memref<4xindex>
      // expected-note @below {{the access is here}}
      nest.store "u" %a, %u[%k] : memref<4xf32>
    }
  }
  func.return
}
