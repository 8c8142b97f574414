// Buffers of which iterations cannot each have a part, and why.
// RUN: opt-tool %s -p 'nest-expand-buffer{buffer=u loop=i}' --split-input-file --verify-diagnostics

// expected-error @below {{cannot expand the buffer "u" over the loop "i": the caller made it}}
func.func @argument(%u: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 {
  }
  func.return
}

// -----

func.func @bound(%x: memref<4xf32>) {
  // expected-note @below {{the loop "i" is bound to thread.x}}
  nest.for "i" %i = 0 to 4 bind "thread.x" {
    // expected-error @below {{cannot expand the buffer "u" over the loop "i": the loop is bound already}}
    %u = nest.alloc "u" : memref<f32>
  }
  func.return
}

// -----

func.func @shared() {
  nest.for "i" %i = 0 to 4 {
    // expected-error @below {{it is in shared memory, of which there is one part per thread or block}}
    %u = nest.alloc "u" : memref<f32, 3 : i64>
  }
  func.return
}

// -----

func.func @several_starts(%n: index, %m: index) {
  // expected-note @below {{here}}
  nest.for "i" %i = max(%n, %m) to 100 {
    // expected-error @below {{the lower bound of the loop is a max of several expressions}}
    %u = nest.alloc "u" : memref<f32>
  }
  func.return
}

// -----

func.func @carried(%x: memref<8xf32>) {
  // expected-error @below {{cannot expand the buffer "u" over the loop "i": an iteration may read what an earlier one wrote}}
  %u = nest.alloc "u" : memref<f32>
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{reads the same element in a later one}}
    %a = nest.load %u[] : memref<f32>
    // expected-note @below {{writes "u" in an earlier iteration of "i"}}
    nest.store "u" %a, %u[] : memref<f32>
  }
  func.return
}

// -----

func.func @threads_inside(%x: memref<8xf32>) {
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{the loop "j" is parallel}}
    nest.for "j" %j = 0 to 8 parallel {
      // expected-error @below {{iterations of a loop inside that run at the same time would share a part}}
      %u = nest.alloc "u" : memref<f32>
    }
  }
  func.return
}

// -----

func.func @bound_inside(%x: memref<8xf32>) {
  nest.for "i" %i = 0 to 8 {
    // expected-note @below {{the loop "j" is bound to block.x}}
    nest.for "j" %j = 0 to 8 bind "block.x" {
      // expected-error @below {{iterations of a loop inside that run at the same time would share a part}}
      %u = nest.alloc "u" : memref<f32>
    }
  }
  func.return
}

// -----

func.func @extent_of_the_iteration(%n: index) {
  // expected-note @below {{the extent comes from here}}
  nest.for "i" %i = 0 to %n {
    // expected-error @below {{cannot expand the buffer "u" over the loop "i": its extent is not known before the loop}}
    %u = nest.alloc "u"(%i) : memref<?xf32>
  }
  func.return
}
