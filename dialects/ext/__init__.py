"""Operations of upstream MLIR dialects that xDSL lacks, one file per dialect, with upstream names and syntax."""
