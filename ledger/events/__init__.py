"""Event kinds by family, one file each; found by file name."""
