"""Operations of the API, one file each; found by file name."""
