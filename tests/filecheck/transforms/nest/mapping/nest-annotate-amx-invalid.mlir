// What the matrix unit does not do is refused: sums that are not its own, terms that do not lie side by side, other elements.
// RUN: opt-tool %s -p 'nest-annotate{loop=k mark="nestor.amx"}' --split-input-file --verify-diagnostics

func.func @argument(%x: memref<16x64xi8>, %y: memref<16x64xi8>, %s: memref<16x16xi32>) {
  // expected-error@+1 {{cannot annotate the loop "k" with "nestor.amx": the sums have no buffer of their own}}
  nest.for "k" %k = 0 to 1 {
    nest.for "r" %r = 0 to 16 {
      nest.for "c" %c = 0 to 16 {
        nest.for "g" %g = 0 to 16 {
          nest.for "v" %v = 0 to 4 {
            %a = nest.load %x[%r, 4 * %g + %v] : memref<16x64xi8>
            %b = nest.load %y[%g, 4 * %c + %v] : memref<16x64xi8>
            %a_1 = arith.extsi %a : i8 to i32
            %b_1 = arith.extsi %b : i8 to i32
            %p = arith.muli %a_1, %b_1 : i32
            // expected-note@+1 {{here}}
            nest.accumulate "s" add %p, %s[%r, %c] : memref<16x16xi32>
          }
        }
      }
    }
  }
  func.return
}

// -----

func.func @apart(%x: memref<16x64xi8>, %y: memref<64x16xi8>) {
  %s = nest.alloc "s" : memref<16x16xi32>
  // expected-error@+1 {{it does not change with the loop "g" as an element of a tile does}}
  nest.for "k" %k = 0 to 1 {
    nest.for "r" %r = 0 to 16 {
      nest.for "c" %c = 0 to 16 {
        nest.for "g" %g = 0 to 16 {
          nest.for "v" %v = 0 to 4 {
            %a = nest.load %x[%r, 4 * %g + %v] : memref<16x64xi8>
            // expected-note@+1 {{here}}
            %b = nest.load %y[4 * %g + %v, %c] : memref<64x16xi8>
            %a_1 = arith.extsi %a : i8 to i32
            %b_1 = arith.extsi %b : i8 to i32
            %p = arith.muli %a_1, %b_1 : i32
            nest.accumulate "s" add %p, %s[%r, %c] : memref<16x16xi32>
          }
        }
      }
    }
  }
  func.return
}

// -----

func.func @edge(%x: memref<16x64xi8>, %y: memref<16x64xi8>, %n: index) {
  %s = nest.alloc "s" : memref<16x16xi32>
  // expected-error@+1 {{it has a domain, and an instruction adds up whole tiles: pad the operands with zeros}}
  nest.for "k" %k = 0 to 1 {
    nest.for "r" %r = 0 to 16 {
      nest.for "c" %c = 0 to 16 {
        nest.for "g" %g = 0 to 16 {
          nest.for "v" %v = 0 to 4 {
            %a = nest.load %x[%r, 4 * %g + %v] : memref<16x64xi8>
            %b = nest.load %y[%g, 4 * %c + %v] : memref<16x64xi8>
            %a_1 = arith.extsi %a : i8 to i32
            %b_1 = arith.extsi %b : i8 to i32
            %p = arith.muli %a_1, %b_1 : i32
            // expected-note@+1 {{here}}
            nest.accumulate "s" add %p, %s[%r, %c] where (%r < %n) : memref<16x16xi32>
          }
        }
      }
    }
  }
  func.return
}

// -----

func.func @wide(%x: memref<16x64xi16>, %y: memref<16x64xi16>) {
  %s = nest.alloc "s" : memref<16x16xi32>
  // expected-error@+1 {{the factors are not elements made wider; those of i8 can be}}
  nest.for "k" %k = 0 to 1 {
    nest.for "r" %r = 0 to 16 {
      nest.for "c" %c = 0 to 16 {
        nest.for "g" %g = 0 to 16 {
          nest.for "v" %v = 0 to 4 {
            %a = nest.load %x[%r, 4 * %g + %v] : memref<16x64xi16>
            %b = nest.load %y[%g, 4 * %c + %v] : memref<16x64xi16>
            %a_1 = arith.extsi %a : i16 to i32
            %b_1 = arith.extsi %b : i16 to i32
            %p = arith.muli %a_1, %b_1 : i32
            // expected-note@+1 {{here}}
            nest.accumulate "s" add %p, %s[%r, %c] : memref<16x16xi32>
          }
        }
      }
    }
  }
  func.return
}

// -----

func.func @registers(%x: memref<48x64xi8>, %y: memref<3x16x64xi8>) {
  %s = nest.alloc "s" : memref<48x48xi32>
  // expected-error@+1 {{3 x 3 tiles of sums and those of the operands are more than 8 registers}}
  nest.for "k" %k = 0 to 1 {
    nest.for "m" %m = 0 to 3 {
      nest.for "n" %n = 0 to 3 {
        nest.for "r" %r = 0 to 16 {
          nest.for "c" %c = 0 to 16 {
            nest.for "g" %g = 0 to 16 {
              nest.for "v" %v = 0 to 4 {
                %a = nest.load %x[16 * %m + %r, 4 * %g + %v] : memref<48x64xi8>
                %b = nest.load %y[%n, %g, 4 * %c + %v] : memref<3x16x64xi8>
                %a_1 = arith.extsi %a : i8 to i32
                %b_1 = arith.extsi %b : i8 to i32
                %p = arith.muli %a_1, %b_1 : i32
                nest.accumulate "s" add %p, %s[16 * %m + %r, 16 * %n + %c] : memref<48x48xi32>
              }
            }
          }
        }
      }
    }
  }
  func.return
}
