"""The board as it is read: refresh requests, the sweep, movers."""
