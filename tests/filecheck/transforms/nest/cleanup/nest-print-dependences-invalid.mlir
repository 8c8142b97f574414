// A function or a loop that is not there is refused.
// RUN: opt-tool %s -p 'nest-print-dependences{loop=k}' --verify-diagnostics -o /dev/null
// RUN: not opt-tool %s -p 'nest-print-dependences{func=g}' 2>&1 | filecheck %s

// CHECK: error: unknown function "g"
// CHECK: help: functions here: f
// expected-error @below {{unknown loop "k"}}
func.func @f(%a: memref<4xf32>) {
  nest.for "i" %i = 0 to 4 {
    %v = nest.load %a[%i] : memref<4xf32>
  }
  func.return
}
