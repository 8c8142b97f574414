// Loops that cannot be fused, and why.
// RUN: opt-tool %s -p 'nest-fuse{first=i second=j}' --split-input-file --verify-diagnostics
// RUN: not opt-tool %s -p 'nest-fuse{first=i second=j}' --split-input-file 2>&1 | filecheck %s --check-prefix=HINT
// RUN: not opt-tool %S/nest-fuse.mlir -p 'nest-fuse{first=i second=i}' --split-input-file 2>&1 | filecheck %s --check-prefix=SAME

// SAME: error: cannot fuse the loops "i" and "i": "i" does not follow "i" in the same body

func.func @forward(%x: f32, %n: index, %y: memref<?xf32>, %z: memref<?xf32>) {
  // HINT: cannot fuse the loops "i" and "j": it turns a flow dependence around
  // HINT: help: it is legal with the loop "j" shifted by 2
  // expected-error @below {{cannot fuse the loops "i" and "j": it turns a flow dependence around}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{a later iteration of "i" writes "y"}}
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to %n {
    // expected-note @below {{an earlier one of "j" reads the same element}}
    %v = nest.load %y[%j + 2] : memref<?xf32>
    nest.store "z" %v, %z[%j] : memref<?xf32>
  }
  func.return
}

// -----

// No shift makes a reduction complete before it is read.
func.func @incomplete(%n: index, %x: memref<?xf32>, %s: memref<f32>, %z: memref<?xf32>) {
  // HINT: cannot fuse the loops "i" and "j": it turns a flow dependence around
  // HINT-NOT: shifted
  // HINT: note: a later iteration of "i" updates "s"
  // expected-error @below {{it turns a flow dependence around}}
  nest.for "i" %i = 0 to %n {
    %v = nest.load %x[%i] : memref<?xf32>
    // expected-note @below {{a later iteration of "i" updates "s"}}
    nest.accumulate "s" add %v, %s[] : memref<f32>
  }
  nest.for "j" %j = 0 to %n {
    // expected-note @below {{an earlier one of "j" reads the same element}}
    %t = nest.load %s[] : memref<f32>
    nest.store "z" %t, %z[%j] : memref<?xf32>
  }
  func.return
}

// -----

func.func @aliased(%x: f32, %n: index, %y: memref<?xf32> {nest.alias_set = 0 : i64}, %z: memref<?xf32> {nest.alias_set = 0 : i64}) {
  // expected-error @below {{it turns an output dependence around}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{a later iteration of "i" writes "y"}}
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to %n {
    // expected-note @below {{an earlier one of "j" writes the same element}}
    nest.store "z" %x, %z[%j] : memref<?xf32>
  }
  func.return
}

// -----

func.func @unknown(%x: f32, %n: index, %y: memref<?xf32>) {
  // expected-error @below {{it turns an output dependence around}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{a later iteration of "i" writes "y"}}
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to %n {
    // expected-note @below {{an earlier one of "j" writes the same element}}
    func.call @g(%y) : (memref<?xf32>) -> ()
  }
  func.return
}
func.func private @g(memref<?xf32>) -> ()

// -----

func.func @shifted(%x: f32, %n: index, %y: memref<?xf32>, %z: memref<?xf32>) {
  // HINT: neither is known to run through the iterations of the other
  // HINT: help: shift the loop "j" by 1 first
  // expected-error @below {{neither is known to run through the iterations of the other}}
  nest.for "i" %i = 1 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  // expected-note @below {{the other loop is here}}
  nest.for "j" %j = 0 to %n - 1 {
    nest.store "z" %x, %z[%j] : memref<?xf32>
  }
  func.return
}

// -----

func.func @extents(%x: f32, %n: index, %m: index, %y: memref<?xf32>, %z: memref<?xf32>) {
  // HINT: neither is known to run through the iterations of the other
  // HINT: help: cut or peel the loops to one range first
  // expected-error @below {{neither is known to run through the iterations of the other}}
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  // expected-note @below {{the other loop is here}}
  nest.for "j" %j = 0 to %m {
    nest.store "z" %x, %z[%j] : memref<?xf32>
  }
  func.return
}

// -----

func.func @steps(%x: f32, %n: index, %y: memref<?xf32>, %z: memref<?xf32>) {
  // expected-error @below {{neither is known to run through the iterations of the other}}
  nest.for "i" %i = 0 to %n step 2 {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  // expected-note @below {{the other loop is here}}
  nest.for "j" %j = 0 to %n step 3 {
    nest.store "z" %x, %z[%j] : memref<?xf32>
  }
  func.return
}

// -----

func.func @marked(%x: f32, %y: memref<32xf32>, %z: memref<32xf32>) {
  nest.for "i" %i = 0 to 32 {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  // expected-error @below {{cannot fuse the loop "j": it is parallel already}}
  nest.for "j" %j = 0 to 32 parallel {
    nest.store "z" %x, %z[%j] : memref<32xf32>
  }
  func.return
}

// -----

func.func @apart(%x: f32, %y: memref<32xf32>, %z: memref<32xf32>) {
  // expected-error @below {{cannot fuse the loops "i" and "j": "j" does not follow "i" in the same body}}
  nest.for "i" %i = 0 to 32 {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  nest.for "k" %k = 0 to 2 {
    // expected-note @below {{here}}
    nest.for "j" %j = 0 to 32 {
      nest.store "z" %x, %z[%j] : memref<32xf32>
    }
  }
  func.return
}

// -----

func.func @backwards(%x: f32, %y: memref<32xf32>, %z: memref<32xf32>) {
  // expected-note @below {{here}}
  nest.for "j" %j = 0 to 32 {
    nest.store "y" %x, %y[%j] : memref<32xf32>
  }
  // expected-error @below {{"j" does not follow "i" in the same body}}
  nest.for "i" %i = 0 to 32 {
    nest.store "z" %x, %z[%i] : memref<32xf32>
  }
  func.return
}

// -----

func.func @between(%x: f32, %c: i1, %y: memref<32xf32>, %z: memref<32xf32>) {
  // expected-error @below {{there is an operation between them that cannot move before "i"}}
  nest.for "i" %i = 0 to 32 {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  // expected-note @below {{here}}
  nest.if %c {
    nest.store "z" %x, %z[0] : memref<32xf32>
  }
  nest.for "j" %j = 0 to 32 {
    nest.store "z" %x, %z[%j] : memref<32xf32>
  }
  func.return
}

// -----

func.func @nest_between(%x: f32, %y: memref<32xf32>, %z: memref<32xf32>) {
  // expected-error @below {{there is an access between them that cannot move before "i"}}
  nest.for "i" %i = 0 to 32 {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  nest.for "k" %k = 0 to 2 {
    // expected-note @below {{it touches "y", as that loop does}}
    nest.store "y" %x, %y[%k] : memref<32xf32>
  }
  nest.for "j" %j = 0 to 32 {
    nest.store "z" %x, %z[%j] : memref<32xf32>
  }
  func.return
}

// -----

func.func @reset(%x: f32, %y: memref<32xf32>) {
  // expected-error @below {{there is an access between them that cannot move before "i"}}
  nest.for "i" %i = 0 to 32 {
    nest.store "y" %x, %y[%i] : memref<32xf32>
  }
  // expected-note @below {{it touches "y", as that loop does}}
  nest.store "y" %x, %y[0] : memref<32xf32>
  nest.for "j" %j = 0 to 32 {
    nest.accumulate "y" add %x, %y[%j] : memref<32xf32>
  }
  func.return
}

// -----

func.func @checks(%n: index, %x: f32, %y: memref<?xf32>, %z: memref<?xf32>) {
  // expected-error @below {{an error must be that of the first iteration in program order}}
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 0 to %n {
    // expected-note @below {{this check can fail}}
    %k = nest.index %j + 1 of %n axis 0 of "z"
    nest.store "z" %x, %z[%k] : memref<?xf32>
  }
  func.return
}

// -----

func.func private @step(index)

func.func @calls(%n: index) {
  // expected-error @below {{cannot fuse the loops "i" and "j"}}
  nest.for "i" %i = 0 to %n {
    // expected-note @below {{a later iteration of "i" writes memory that is not known}}
    func.call @step(%i) : (index) -> ()
  }
  nest.for "j" %j = 0 to %n {
    // expected-note @below {{an earlier one of "j" writes the same element}}
    func.call @step(%j) : (index) -> ()
  }
  func.return
}

// -----

// Iteration 2 of the second loop is none of the first.
func.func @odd(%x: f32, %y: memref<20xf32>, %z: memref<20xf32>) {
  // expected-error @below {{cannot fuse the loops "i" and "j": neither is known to run through the iterations of the other}}
  nest.for "i" %i = 0 to 20 step 4 {
    nest.store "y" %x, %y[%i] : memref<20xf32>
  }
  // expected-note @below {{the other loop is here}}
  nest.for "j" %j = 2 to 15 step 4 {
    nest.store "z" %x, %z[%j] : memref<20xf32>
  }
  func.return
}

// -----

func.func @bound(%x: f32, %n: index, %c: memref<?xi1>, %y: memref<?xf32>, %z: memref<?x32xf32>) {
  // expected-error @below {{cannot fuse the loops "i" and "j": they have different iterations, and a branch would be around "t"}}
  nest.for "i" %i = 0 to %n {
    nest.store "y" %x, %y[%i] : memref<?xf32>
  }
  nest.for "j" %j = 1 to %n {
    %b = nest.load %c[%j] : memref<?xi1>
    // expected-note @below {{it is bound to thread.x}}
    nest.for "t" %t = 0 to 32 bind "thread.x" {
      nest.if %b {
        nest.store "z" %x, %z[%j, %t] : memref<?x32xf32>
      }
    }
  }
  func.return
}
