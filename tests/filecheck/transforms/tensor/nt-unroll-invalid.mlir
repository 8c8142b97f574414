// A factor that says nothing.
// RUN: opt-tool %s -p 'nt-unroll{factor=0}' --verify-diagnostics

// expected-error @below {{cannot unroll by a factor of 0}}
builtin.module {
}
