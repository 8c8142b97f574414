// A refusal speaks of the loop that carries what would be turned around, as nest-print-dependences does.
// RUN: opt-tool %s -p 'nest-reorder{loops=i,k,j}' --verify-diagnostics

// The loop "j" carries what would be turned around: it is the first of the loops whose distance is not zero.
func.func @inner(%n: index, %y: memref<?x?x?xf32>) {
  // expected-error @below {{cannot reorder the loops to i, k, j: it turns an anti dependence around, which the loop "j" carries}}
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to %n - 1 {
      nest.for "k" %k = 1 to %n {
        // expected-note @below {{reads "y" in an earlier iteration of "j"}}
        %a = nest.load %y[%i, %j + 1, %k - 1] : memref<?x?x?xf32>
        // expected-note @below {{writes the same element in a later one}}
        nest.store "y" %a, %y[%i, %j, %k] : memref<?x?x?xf32>
      }
    }
  }
  func.return
}
