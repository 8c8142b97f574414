// `--split-input-file` runs each piece alone: one wrong piece does not stop the others, and lines count from the file's start.
// RUN: not opt-tool %s --split-input-file 2>&1 | filecheck %s

// CHECK: :11:1: error: ')' expected
// CHECK: func.func private @first()
// CHECK: // -----
// CHECK: func.func private @last()
func.func private @first()
// -----
func.func @middle(%x: i32
// -----
func.func private @last()
