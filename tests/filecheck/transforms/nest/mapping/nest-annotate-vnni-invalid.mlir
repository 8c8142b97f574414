// What the instructions do not do is refused: no signs at all, more sums than registers, rows in two loops.
// RUN: opt-tool %s -p 'nest-annotate{loop=k mark="nestor.vnni"}' --split-input-file --verify-diagnostics

func.func @no_signs(%x: memref<3x1x4xi8>, %y: memref<3x1x64xi8>, %z: memref<1x16xi32> {nest.role = "out"}) {
  %zero = arith.constant 0 : i32
  %s = nest.alloc "s" : memref<1x16xi32>
  nest.for "i" %i = 0 to 1 {
    nest.for "j" %j = 0 to 16 {
      nest.store "s" %zero, %s[%i, %j] : memref<1x16xi32>
    }
  }
  // expected-error@+1 {{one of the operands has signs, and both of these have none}}
  nest.for "k" %k = 0 to 3 {
    nest.for "r" %r = 0 to 1 {
      nest.for "n" %n = 0 to 1 {
        nest.for "c" %c = 0 to 16 {
          nest.for "g" %g = 0 to 1 {
            nest.for "v" %v = 0 to 4 {
              %a = nest.load %x[%k, %r, 4 * %g + %v] : memref<3x1x4xi8>
              %b = nest.load %y[%k, %g, 64 * %n + 4 * %c + %v] : memref<3x1x64xi8>
              %a_1 = arith.extui %a : i8 to i32
              %b_1 = arith.extui %b : i8 to i32
              %p = arith.muli %a_1, %b_1 : i32
              // expected-note@+1 {{here}}
              nest.accumulate "s" add %p, %s[%r, 16 * %n + %c] : memref<1x16xi32>
            }
          }
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 1 {
    nest.for "j.1" %j = 0 to 16 {
      %0 = nest.load %s[%i, %j] : memref<1x16xi32>
      nest.store "z" %0, %z[%i, %j] : memref<1x16xi32>
    }
  }
  func.return
}

// -----

func.func @registers(%x: memref<3x14x16xi8>, %y: memref<3x4x192xi8>, %z: memref<14x48xi32> {nest.role = "out"}) {
  %zero = arith.constant 0 : i32
  %s = nest.alloc "s" : memref<14x48xi32>
  nest.for "i" %i = 0 to 14 {
    nest.for "j" %j = 0 to 48 {
      nest.store "s" %zero, %s[%i, %j] : memref<14x48xi32>
    }
  }
  // expected-error@+1 {{14 x 3 vectors of sums and those of the operands are more than 32 registers}}
  nest.for "k" %k = 0 to 3 {
    nest.for "r" %r = 0 to 14 {
      nest.for "n" %n = 0 to 3 {
        nest.for "c" %c = 0 to 16 {
          nest.for "g" %g = 0 to 4 {
            nest.for "v" %v = 0 to 4 {
              %a = nest.load %x[%k, %r, 4 * %g + %v] : memref<3x14x16xi8>
              %b = nest.load %y[%k, %g, 64 * %n + 4 * %c + %v] : memref<3x4x192xi8>
              %a_1 = arith.extui %a : i8 to i32
              %b_1 = arith.extsi %b : i8 to i32
              %p = arith.muli %a_1, %b_1 : i32
              nest.accumulate "s" add %p, %s[%r, 16 * %n + %c] : memref<14x48xi32>
            }
          }
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 14 {
    nest.for "j.1" %j = 0 to 48 {
      %0 = nest.load %s[%i, %j] : memref<14x48xi32>
      nest.store "z" %0, %z[%i, %j] : memref<14x48xi32>
    }
  }
  func.return
}

// -----

func.func @rows(%x: memref<3x15x16xi8>, %y: memref<3x4x64xi8>, %z: memref<15x16xi32> {nest.role = "out"}) {
  %zero = arith.constant 0 : i32
  %s = nest.alloc "s" : memref<15x16xi32>
  nest.for "i" %i = 0 to 15 {
    nest.for "j" %j = 0 to 16 {
      nest.store "s" %zero, %s[%i, %j] : memref<15x16xi32>
    }
  }
  // expected-error@+1 {{this loop has more than 14 iterations}}
  nest.for "k" %k = 0 to 3 {
    // expected-note@+1 {{here}}
    nest.for "r" %r = 0 to 15 {
      nest.for "n" %n = 0 to 1 {
        nest.for "c" %c = 0 to 16 {
          nest.for "g" %g = 0 to 4 {
            nest.for "v" %v = 0 to 4 {
              %a = nest.load %x[%k, %r, 4 * %g + %v] : memref<3x15x16xi8>
              %b = nest.load %y[%k, %g, 64 * %n + 4 * %c + %v] : memref<3x4x64xi8>
              %a_1 = arith.extui %a : i8 to i32
              %b_1 = arith.extsi %b : i8 to i32
              %p = arith.muli %a_1, %b_1 : i32
              nest.accumulate "s" add %p, %s[%r, 16 * %n + %c] : memref<15x16xi32>
            }
          }
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 15 {
    nest.for "j.1" %j = 0 to 16 {
      %0 = nest.load %s[%i, %j] : memref<15x16xi32>
      nest.store "z" %0, %z[%i, %j] : memref<15x16xi32>
    }
  }
  func.return
}

// -----

func.func @lanes(%x: memref<3x1x16xi8>, %y: memref<3x4x32xi8>, %z: memref<1x8xi32> {nest.role = "out"}) {
  %zero = arith.constant 0 : i32
  %s = nest.alloc "s" : memref<1x8xi32>
  nest.for "i" %i = 0 to 1 {
    nest.for "j" %j = 0 to 8 {
      nest.store "s" %zero, %s[%i, %j] : memref<1x8xi32>
    }
  }
  // expected-error@+1 {{a vector has 16 columns}}
  nest.for "k" %k = 0 to 3 {
    nest.for "r" %r = 0 to 1 {
      nest.for "n" %n = 0 to 1 {
        // expected-note@+1 {{here}}
        nest.for "c" %c = 0 to 8 {
          nest.for "g" %g = 0 to 4 {
            nest.for "v" %v = 0 to 4 {
              %a = nest.load %x[%k, %r, 4 * %g + %v] : memref<3x1x16xi8>
              %b = nest.load %y[%k, %g, 32 * %n + 4 * %c + %v] : memref<3x4x32xi8>
              %a_1 = arith.extui %a : i8 to i32
              %b_1 = arith.extsi %b : i8 to i32
              %p = arith.muli %a_1, %b_1 : i32
              nest.accumulate "s" add %p, %s[%r, 8 * %n + %c] : memref<1x8xi32>
            }
          }
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 1 {
    nest.for "j.1" %j = 0 to 8 {
      %0 = nest.load %s[%i, %j] : memref<1x8xi32>
      nest.store "z" %0, %z[%i, %j] : memref<1x8xi32>
    }
  }
  func.return
}

// -----

func.func @tiles(%x: memref<4x4xi8>, %y: memref<1x64xi8>) {
  %s = nest.alloc "s" : memref<4x16xi32>
  // expected-error@+1 {{its rows are one loop}}
  nest.for "k" %k = 0 to 1 {
    // expected-note@+1 {{here}}
    nest.for "m" %m = 0 to 2 {
      nest.for "r" %r = 0 to 2 {
        nest.for "c" %c = 0 to 16 {
          nest.for "g" %g = 0 to 1 {
            nest.for "v" %v = 0 to 4 {
              %a = nest.load %x[2 * %m + %r, 4 * %g + %v] : memref<4x4xi8>
              %b = nest.load %y[%g, 4 * %c + %v] : memref<1x64xi8>
              %a_1 = arith.extui %a : i8 to i32
              %b_1 = arith.extsi %b : i8 to i32
              %p = arith.muli %a_1, %b_1 : i32
              nest.accumulate "s" add %p, %s[2 * %m + %r, %c] : memref<4x16xi32>
            }
          }
        }
      }
    }
  }
  func.return
}
