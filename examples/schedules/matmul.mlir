// A matrix product the way a BLAS does it (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication",
// 2008), for examples/matmul.mlir: a block of b is packed into panels of 64 columns, a block of a into panels of 6 rows,
// and a tile of 6 x 64 sums stays in vector registers while it goes along k.
schedule.sequence @blas for @matmul params {KC = 512, MC = 24} {
  %i, %j, %k = schedule.match loops ["i", "j", "k"]
  %k_block, %k_in = schedule.split %k by @KC tail(clamp)
  %i_tiles, %row = schedule.split %i by 6 tail(mask)
  %i_block, %i_tile = schedule.split %i_tiles by @MC tail(clamp)
  %j_tile, %lane = schedule.split %j by 64 tail(mask)
  schedule.reorder %k_block, %i_block, %j_tile, %i_tile, %k_in, %row, %lane
  %a, %b, %c = schedule.match buffers ["a", "b", "c"]

  // the tile of sums
  %sums, %start, %back = schedule.cache_write %c at %i_tile init(identity) name("sums")
  %start_lane, %back_lane = schedule.match loops ["sums.init.ax1", "sums.back.ax1"]

  // the panels; layouts last, when the loops that copy have the form of the panels
  %bs, %b_copy = schedule.cache_read %b at %k_block name("b_panels")
  %b_columns = schedule.match loops ["b_panels.load.ax1"]
  %b_panel, %b_lane = schedule.split %b_columns by 64 tail(clamp)
  %b_panels = schedule.transform_layout %bs to "k j -> j/64 k j%64"
  %as, %a_copy = schedule.cache_read %a at %i_block name("a_panels")
  %a_panel, %a_row = schedule.split %a_copy by 6 tail(clamp)
  %a_depth = schedule.match loops ["a_panels.load.ax1"]
  schedule.reorder %a_panel, %a_depth, %a_row
  %a_panels = schedule.transform_layout %as to "i k -> i/6 k i%6"

  // vectors along the columns, and the rows of a tile side by side
  %v0 = schedule.vectorize %lane by 64
  %v1 = schedule.vectorize %start_lane by 64
  %v2 = schedule.vectorize %back_lane by 64
  %v3 = schedule.vectorize %b_lane by 64
  schedule.annotate %row with "unrolled"
  schedule.annotate %start with "unrolled"
  schedule.annotate %back with "unrolled"
  schedule.annotate %a_row with "unrolled"
  %columns = schedule.match loops ["column"]
  %column_block, %column, %column_rest = schedule.split %columns by 64
  %v4 = schedule.vectorize %column by 64
  %v5 = schedule.vectorize %column_rest by 64
}
