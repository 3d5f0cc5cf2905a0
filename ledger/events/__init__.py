"""Event kinds by family, with all that is known of each; found by file name."""
