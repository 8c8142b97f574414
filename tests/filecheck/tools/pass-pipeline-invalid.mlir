// Errors in a pipeline point into its text, and say what to do.
// RUN: not opt-tool %s --pass-pipeline='cse' 2>&1 | filecheck %s --check-prefix=ANCHOR
// RUN: not opt-tool %s -p 'func.func(cse' 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: not opt-tool %s -p 'canonicalise' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not opt-tool %s -p 'func.func(arith.constant(cse))' 2>&1 | filecheck %s --check-prefix=ISOLATED

// ANCHOR:      <pipeline>:1:1: error: a pass pipeline starts with its anchor, 'builtin.module(...)'
// ANCHOR:      help: write builtin.module(cse), or use -p
// OPEN:        <pipeline>:1:10: error: '(' without a matching ')'
// UNKNOWN:     <pipeline>:1:1: error: unknown pass 'canonicalise'
// UNKNOWN:     help: did you mean 'canonicalize'
// ISOLATED:    :14:8: error: a pipeline cannot be anchored on 'arith.constant': it is not isolated from above
func.func @f() {
  %a = arith.constant 1 : i32
  func.return
}
