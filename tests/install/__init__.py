"""What scripts/build makes, installed where no checkout is."""
