"""`python -m bot.cli`: the same as `cardinal`."""

from bot.cli import main

main(prog_name="cardinal")
