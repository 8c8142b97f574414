// The same loop for a GPU: one thread a box, blocks of 128 threads, the last block masked.
schedule.sequence @cuda for @ratio_iou params {THREADS = 128} {
  %i, %j = schedule.match loops ["i", "j"]
  %boxes = schedule.flatten %i, %j
  %blocks, %threads = schedule.split %boxes by @THREADS tail(mask)
  schedule.bind %blocks to "block.x"
  schedule.bind %threads to "thread.x"
}
