"""Operations of upstream MLIR dialects that xDSL lacks, one file a dialect, with upstream names and syntax."""
