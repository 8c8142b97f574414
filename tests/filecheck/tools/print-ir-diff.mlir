// `--print-ir-diff` writes a page for each pass that changed something, and an index of all that ran.
// RUN: rm -rf %t && opt-tool %s -p 'cse,canonicalize,func.func(test-nothing),nest-split{loop=i factor=4}' --load-pass-plugin=%S/Inputs/nothing_pass.py --print-ir-diff=%t/new/dir | filecheck %s --check-prefix=OUT
// RUN: ls -A %t/new/dir | filecheck %s --check-prefix=FILES
// RUN: filecheck %s --check-prefix=INDEX --input-file=%t/new/dir/index.html
// RUN: filecheck %s --check-prefix=PAGE --input-file=%t/new/dir/001-cse.html
// RUN: not opt-tool %s -p 'cse,nest-split{loop=k factor=4}' --print-ir-diff=%t/failed 2>/dev/null
// RUN: filecheck %s --check-prefix=FAILED --input-file=%t/failed/index.html
// RUN: opt-tool %s --print-ir-diff=%t/none -o /dev/null && filecheck %s --check-prefix=NONE --input-file=%t/none/index.html
// RUN: not opt-tool %s -p cse --print-ir-diff=%s/x 2>&1 | filecheck %s --check-prefix=DIRECTORY
// RUN: not opt-tool %s -p cse --print-ir-diff=%s 2>&1 | filecheck %s --check-prefix=DIRECTORY

// OUT: nest.for "i.o"

// FILES:      001-cse.html
// FILES-NEXT: 004-nest-split.html
// FILES-NEXT: index.html
// FILES-NOT:  {{.}}

// INDEX: <tr><td>1</td><td><a href="001-cse.html">cse</a></td><td>&minus;2 +1</td></tr>
// INDEX: <tr class="soft"><td>2</td><td>canonicalize</td><td>no change</td></tr>
// INDEX: <tr class="soft"><td>3</td><td>test-nothing ('func.func' @f&lt;i32&gt;)</td><td>no change</td></tr>
// INDEX: <tr><td>4</td><td><a href="004-nest-split.html">nest-split{loop=i factor=4}</a></td>

// PAGE:      <title>cse</title>
// PAGE:      <td class="gone">    %b = arith.addi %x, %x : i32</td><td></td><td></td>
// PAGE-NEXT: <td class="gone">    %c = arith.muli %a, <b>%b</b> : i32</td><td class="n">
// PAGE-SAME: <td class="came">    %c = arith.muli %a, <b>%a</b> : i32</td>

// FAILED: <tr><td>1</td><td><a href="001-cse.html">cse</a>
// FAILED: <tr class="soft"><td>2</td><td>nest-split{{.*}}</td><td>failed</td></tr>
// NONE: No pass has run.
// DIRECTORY: error: --print-ir-diff: cannot make directory '{{.*}}'
func.func @"f<i32>"(%x: i32, %y: memref<8xi32>) {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  nest.for "i" %i = 0 to 8 {
    nest.store "y" %c, %y[%i] : memref<8xi32>
  }
  func.return
}
