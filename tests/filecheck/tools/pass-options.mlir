// Options are typed: a bad value names the option, its pass and the expected type; a misspelled one is guessed.
// RUN: not opt-tool %s --load-pass-plugin=%S/Inputs/test_passes.py -p 'test-fail{limit=x}' 2>&1 | filecheck %s --check-prefix=TYPE
// RUN: not opt-tool %s --load-pass-plugin=%S/Inputs/test_passes.py -p 'cse,test-fail{mesage="no"}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: opt-tool %s --load-pass-plugin=%S/Inputs/test_passes.py --dump-pass-pipeline -o /dev/null -p 'test-fail{message="not here" sizes=1,2 limit=none really=false}' 2>&1 | filecheck %s --check-prefix=GOOD

// TYPE:      <pipeline>:1:11: error: option 'limit' of pass 'test-fail' expects an integer, got 'x'
// TYPE-NEXT: test-fail{limit=x}
// TYPE-NEXT: {{^          \^$}}

// NAME:      <pipeline>:1:15: error: pass 'test-fail' has no option 'mesage'
// NAME:      help: did you mean 'message'? its options: message, limit, ratio, sizes, mode, really

// GOOD:      Pass pipeline: builtin.module(test-fail{message="not here" sizes=1,2 limit=none really=false})
%x = arith.constant 1 : i32
