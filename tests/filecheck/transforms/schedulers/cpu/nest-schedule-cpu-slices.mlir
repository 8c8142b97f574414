// Matrices of batches are made and used slice by slice; heads that are put side by side are laid out so.
// RUN: opt-tool %s -p nest-schedule-cpu | filecheck %s

// CHECK-LABEL: func.func @attention
// CHECK-NOT:   memref<2x4x128x128xf32>
// CHECK:       %[[MIXED:.*]] = nest.alloc "mixed" : memref<2x128x128xf32>
// CHECK:       nest.for "i" %[[I:.*]] = 0 to 2 {
// CHECK-NEXT:    nest.for "j" %[[J:.*]] = 0 to 4 parallel
// CHECK-NEXT:      nest.alloc "s" : memref<1x1x128x144xf32>
// CHECK:           nest.for "product"
// CHECK:           math.exp
// CHECK:           nest.for "product.1"
// CHECK:             nest.accumulate "mixed" add %{{.*}}, %[[MIXED]][%[[I]], {{.*}}, 32 * %[[J]] + {{.*}}]
// CHECK:       %[[FLAT:.*]] = memref.collapse_shape %[[MIXED]] {{.*}} into memref<256x128xf32>
// CHECK:       nest.load %[[FLAT]][
func.func @attention(%q: memref<2x4x128x32xf32>, %v: memref<2x4x128x32xf32>, %w: memref<128x48xf32>, %o: memref<2x128x48xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<2x4x128x128xf32>
  nest.for "i" %i = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      nest.for "k" %k = 0 to 128 {
        nest.for "l" %l = 0 to 128 {
          nest.store "s" %zero, %s[%i, %j, %k, %l] : memref<2x4x128x128xf32>
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 2 {
    nest.for "j.1" %j = 0 to 4 {
      nest.for "k.1" %k = 0 to 128 {
        nest.for "l.1" %l = 0 to 128 {
          nest.for "m" %m = 0 to 32 {
            %a = nest.load %q[%i, %j, %k, %m] : memref<2x4x128x32xf32>
            %b = nest.load %v[%i, %j, %l, %m] : memref<2x4x128x32xf32>
            %p = arith.mulf %a, %b : f32
            nest.accumulate "s" add %p, %s[%i, %j, %k, %l] : memref<2x4x128x128xf32>
          }
        }
      }
    }
  }
  nest.for "i.2" %i = 0 to 2 {
    nest.for "j.2" %j = 0 to 4 {
      nest.for "k.2" %k = 0 to 128 {
        nest.for "l.2" %l = 0 to 128 {
          %a = nest.load %s[%i, %j, %k, %l] : memref<2x4x128x128xf32>
          %e = math.exp %a : f32
          nest.store "s" %e, %s[%i, %j, %k, %l] : memref<2x4x128x128xf32>
        }
      }
    }
  }
  %mixed = nest.alloc "mixed" : memref<2x4x128x32xf32>
  nest.for "i.3" %i = 0 to 2 {
    nest.for "j.3" %j = 0 to 4 {
      nest.for "k.3" %k = 0 to 128 {
        nest.for "l.3" %l = 0 to 32 {
          nest.store "mixed" %zero, %mixed[%i, %j, %k, %l] : memref<2x4x128x32xf32>
        }
      }
    }
  }
  nest.for "i.4" %i = 0 to 2 {
    nest.for "j.4" %j = 0 to 4 {
      nest.for "k.4" %k = 0 to 128 {
        nest.for "l.4" %l = 0 to 32 {
          nest.for "m.1" %m = 0 to 128 {
            %a = nest.load %s[%i, %j, %k, %m] : memref<2x4x128x128xf32>
            %b = nest.load %v[%i, %j, %m, %l] : memref<2x4x128x32xf32>
            %p = arith.mulf %a, %b : f32
            nest.accumulate "mixed" add %p, %mixed[%i, %j, %k, %l] : memref<2x4x128x32xf32>
          }
        }
      }
    }
  }
  nest.for "i.5" %i = 0 to 2 {
    nest.for "j.5" %j = 0 to 128 {
      nest.for "k.5" %k = 0 to 48 {
        nest.for "l.5" %l = 0 to 128 {
          %a = nest.load %mixed[%i, %l floordiv 32, %j, %l mod 32] : memref<2x4x128x32xf32>
          %b = nest.load %w[%l, %k] : memref<128x48xf32>
          %p = arith.mulf %a, %b : f32
          nest.accumulate "o" add %p, %o[%i, %j, %k] : memref<2x128x48xf32>
        }
      }
    }
  }
  func.return
}

// A slice is larger than the cache: rows of it are done in blocks.
// CHECK-LABEL: func.func @long
// CHECK-NOT:   memref<2x4x1000x1000xf32>
// CHECK:       nest.for "i"
// CHECK:         nest.for "j"
// CHECK:           nest.for "k.o" %{{.*}} = 0 to 9 {
// CHECK-NEXT:        nest.alloc "s" : memref<1x1x120x1000xf32>
func.func @long(%q: memref<2x4x1000x32xf32>, %v: memref<2x4x1000x32xf32>, %w: memref<128x48xf32>, %o: memref<2x1000x48xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<2x4x1000x1000xf32>
  nest.for "i" %i = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      nest.for "k" %k = 0 to 1000 {
        nest.for "l" %l = 0 to 1000 {
          nest.store "s" %zero, %s[%i, %j, %k, %l] : memref<2x4x1000x1000xf32>
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 2 {
    nest.for "j.1" %j = 0 to 4 {
      nest.for "k.1" %k = 0 to 1000 {
        nest.for "l.1" %l = 0 to 1000 {
          nest.for "m" %m = 0 to 32 {
            %a = nest.load %q[%i, %j, %k, %m] : memref<2x4x1000x32xf32>
            %b = nest.load %v[%i, %j, %l, %m] : memref<2x4x1000x32xf32>
            %p = arith.mulf %a, %b : f32
            nest.accumulate "s" add %p, %s[%i, %j, %k, %l] : memref<2x4x1000x1000xf32>
          }
        }
      }
    }
  }
  nest.for "i.2" %i = 0 to 2 {
    nest.for "j.2" %j = 0 to 4 {
      nest.for "k.2" %k = 0 to 1000 {
        nest.for "l.2" %l = 0 to 1000 {
          %a = nest.load %s[%i, %j, %k, %l] : memref<2x4x1000x1000xf32>
          %e = math.exp %a : f32
          nest.store "s" %e, %s[%i, %j, %k, %l] : memref<2x4x1000x1000xf32>
        }
      }
    }
  }
  %mixed = nest.alloc "mixed" : memref<2x4x1000x32xf32>
  nest.for "i.3" %i = 0 to 2 {
    nest.for "j.3" %j = 0 to 4 {
      nest.for "k.3" %k = 0 to 1000 {
        nest.for "l.3" %l = 0 to 32 {
          nest.store "mixed" %zero, %mixed[%i, %j, %k, %l] : memref<2x4x1000x32xf32>
        }
      }
    }
  }
  nest.for "i.4" %i = 0 to 2 {
    nest.for "j.4" %j = 0 to 4 {
      nest.for "k.4" %k = 0 to 1000 {
        nest.for "l.4" %l = 0 to 32 {
          nest.for "m.1" %m = 0 to 1000 {
            %a = nest.load %s[%i, %j, %k, %m] : memref<2x4x1000x1000xf32>
            %b = nest.load %v[%i, %j, %m, %l] : memref<2x4x1000x32xf32>
            %p = arith.mulf %a, %b : f32
            nest.accumulate "mixed" add %p, %mixed[%i, %j, %k, %l] : memref<2x4x1000x32xf32>
          }
        }
      }
    }
  }
  nest.for "i.5" %i = 0 to 2 {
    nest.for "j.5" %j = 0 to 1000 {
      nest.for "k.5" %k = 0 to 48 {
        nest.for "l.5" %l = 0 to 128 {
          %a = nest.load %mixed[%i, %l floordiv 32, %j, %l mod 32] : memref<2x4x1000x32xf32>
          %b = nest.load %w[%l, %k] : memref<128x48xf32>
          %p = arith.mulf %a, %b : f32
          nest.accumulate "o" add %p, %o[%i, %j, %k] : memref<2x1000x48xf32>
        }
      }
    }
  }
  func.return
}

// The matrix is used by a nest that has no such slices: it is made whole.
// CHECK-LABEL: func.func @whole
// CHECK:       nest.alloc "s" : memref<2x4x128x128xf32>
func.func @whole(%q: memref<2x4x128x32xf32>, %v: memref<2x4x128x32xf32>, %w: memref<128x48xf32>, %o: memref<2x128x48xf32>, %c: memref<15xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = nest.alloc "s" : memref<2x4x128x128xf32>
  nest.for "i" %i = 0 to 2 {
    nest.for "j" %j = 0 to 4 {
      nest.for "k" %k = 0 to 128 {
        nest.for "l" %l = 0 to 128 {
          nest.store "s" %zero, %s[%i, %j, %k, %l] : memref<2x4x128x128xf32>
        }
      }
    }
  }
  nest.for "i.1" %i = 0 to 2 {
    nest.for "j.1" %j = 0 to 4 {
      nest.for "k.1" %k = 0 to 128 {
        nest.for "l.1" %l = 0 to 128 {
          nest.for "m" %m = 0 to 32 {
            %a = nest.load %q[%i, %j, %k, %m] : memref<2x4x128x32xf32>
            %b = nest.load %v[%i, %j, %l, %m] : memref<2x4x128x32xf32>
            %p = arith.mulf %a, %b : f32
            nest.accumulate "s" add %p, %s[%i, %j, %k, %l] : memref<2x4x128x128xf32>
          }
        }
      }
    }
  }
  nest.for "i.2" %i = 0 to 2 {
    nest.for "j.2" %j = 0 to 4 {
      nest.for "k.2" %k = 0 to 128 {
        nest.for "l.2" %l = 0 to 128 {
          %a = nest.load %s[%i, %j, %k, %l] : memref<2x4x128x128xf32>
          %e = math.exp %a : f32
          nest.store "s" %e, %s[%i, %j, %k, %l] : memref<2x4x128x128xf32>
        }
      }
    }
  }
  %mixed = nest.alloc "mixed" : memref<2x4x128x32xf32>
  nest.for "i.3" %i = 0 to 2 {
    nest.for "j.3" %j = 0 to 4 {
      nest.for "k.3" %k = 0 to 128 {
        nest.for "l.3" %l = 0 to 32 {
          nest.store "mixed" %zero, %mixed[%i, %j, %k, %l] : memref<2x4x128x32xf32>
        }
      }
    }
  }
  nest.for "i.4" %i = 0 to 2 {
    nest.for "j.4" %j = 0 to 4 {
      nest.for "k.4" %k = 0 to 128 {
        nest.for "l.4" %l = 0 to 32 {
          nest.for "m.1" %m = 0 to 128 {
            %a = nest.load %s[%i, %j, %k, %m] : memref<2x4x128x128xf32>
            %b = nest.load %v[%i, %j, %m, %l] : memref<2x4x128x32xf32>
            %p = arith.mulf %a, %b : f32
            nest.accumulate "mixed" add %p, %mixed[%i, %j, %k, %l] : memref<2x4x128x32xf32>
          }
        }
      }
    }
  }
  nest.for "c" %j = 0 to 15 {
    %x = nest.load %s[0, 0, 5, %j] : memref<2x4x128x128xf32>
    nest.store "c" %x, %c[%j] : memref<15xf32>
  }
  nest.for "i.5" %i = 0 to 2 {
    nest.for "j.5" %j = 0 to 128 {
      nest.for "k.5" %k = 0 to 48 {
        nest.for "l.5" %l = 0 to 128 {
          %a = nest.load %mixed[%i, %l floordiv 32, %j, %l mod 32] : memref<2x4x128x32xf32>
          %b = nest.load %w[%l, %k] : memref<128x48xf32>
          %p = arith.mulf %a, %b : f32
          nest.accumulate "o" add %p, %o[%i, %j, %k] : memref<2x128x48xf32>
        }
      }
    }
  }
  func.return
}
