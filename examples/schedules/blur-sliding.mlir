// Tiles of rows, each on one thread with a buffer of its own, and in a tile a window of rows that slides: two rows are
// blurred before the tile begins, then one new row for each row of the result, in the place of the one that is not read
// any more. Two rows a tile are computed twice; three are kept.
schedule.sequence @sliding for @blur params {ROWS = 32} {
  %i, %j = schedule.match loops ["i.1", "j.1"]
  %tiles, %i_in = schedule.split %i by @ROWS tail(clamp)
  %rows = schedule.match buffers ["rows"]
  schedule.compute_at %rows at %tiles storage(here)
  %mine = schedule.match buffers ["rows"]
  schedule.compute_at %mine at %i_in
  %window, %first = schedule.rolling_buffer %mine in %i_in
  schedule.parallel %tiles
  %vectors = schedule.match loops containing "nest.store"
  %v = schedule.vectorize %vectors by 64
}
