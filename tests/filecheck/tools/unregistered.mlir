// Operations of unknown dialects need `--allow-unregistered-dialect`.
// RUN: opt-tool %s --allow-unregistered-dialect | filecheck %s
// RUN: not opt-tool %s 2>&1 | filecheck %s --check-prefix=STRICT

// CHECK:  "foo.bar"() {a = !foo.type<1>} : () -> ()
// STRICT: :8:1: error: unknown dialect 'foo' in operation 'foo.bar'
// STRICT: help: --show-dialects lists what there is; --allow-unregistered-dialect accepts any
"foo.bar"() {a = !foo.type<1>} : () -> ()
