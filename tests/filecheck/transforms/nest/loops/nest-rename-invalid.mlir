// A name that another loop has, and an empty one, are refused.
// RUN: opt-tool %s --split-input-file --verify-diagnostics -p 'nest-rename{loop=i to=j}'
// RUN: not opt-tool %s --split-input-file -p 'nest-rename{loop=i to=""}' 2>&1 | filecheck %s --check-prefix=EMPTY

// EMPTY: cannot rename the loop "i": a loop needs a name

func.func @taken(%x: memref<4xf32>) {
  // expected-error @below {{cannot rename the loop "i" to "j": another loop is called that}}
  nest.for "i" %i = 0 to 4 {
    // expected-note @below {{that loop is here}}
    nest.for "j" %j = 0 to 4 {
    }
  }
  func.return
}
