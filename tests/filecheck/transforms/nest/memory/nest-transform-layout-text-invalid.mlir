// Layouts that lose elements, and texts that are no layouts; a caret shows where.
// RUN: not opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> i/2 j"}' 2>&1 | filecheck %s --check-prefix=FOLD
// RUN: not opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> i (i+j)%5"}' 2>&1 | filecheck %s --check-prefix=FOLD
// RUN: not opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> 5-i j"}' 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: not opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> j i" pad=1}' 2>&1 | filecheck %s --check-prefix=PAD
// RUN: not opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> j k"}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not opt-tool %s -p 'nest-transform-layout{buffer=u layout="i i -> i"}' 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j"}' 2>&1 | filecheck %s --check-prefix=ARROW
// RUN: not opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> j/i i"}' 2>&1 | filecheck %s --check-prefix=INTEGER
// RUN: not opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> j/0 i"}' 2>&1 | filecheck %s --check-prefix=POSITIVE
// RUN: not opt-tool %s -p 'nest-transform-layout{buffer=u layout="i j -> (j+i"}' 2>&1 | filecheck %s --check-prefix=PAREN

// FOLD: error: cannot transform the layout of "u": two of its elements would be in one place while both are still needed
// FOLD: note: this load reads an element
// FOLD: note: this statement may have written the other one
// NEGATIVE: error: cannot transform the layout of "u": the new index 0 can be negative
// PAD: error: cannot transform the layout of "u": pad=1 is not one extent, at least 0, for each of the 2 new axes
// NAME: error: bad layout: unknown name "k"; axes have their names on the left of '->'
// NAME: {{^}}  help: i j -> j k
// NAME-NEXT: {{^}}                   ^
// TWICE: error: bad layout: two axes are called "i"
// ARROW: error: bad layout: expected a name
// INTEGER: error: bad layout: expected an integer on the right of '/'
// POSITIVE: error: bad layout: '/' needs a positive integer
// PAREN: error: bad layout: expected ')'
func.func @f(%n: index, %a: f32, %y: memref<?x6xf32>) {
  %u = nest.alloc "u"(%n) : memref<?x6xf32>
  nest.for "i" %i = 0 to %n {
    nest.for "j" %j = 0 to 6 {
      nest.store "u" %a, %u[%i, %j] : memref<?x6xf32>
    }
  }
  nest.for "k" %k = 0 to %n {
    nest.for "l" %l = 0 to 6 {
      %b = nest.load %u[%k, %l] : memref<?x6xf32>
      nest.store "y" %b, %y[%k, %l] : memref<?x6xf32>
    }
  }
  func.return
}
