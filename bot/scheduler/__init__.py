"""Time-driven work: ticks, dispatch of runs, worker wake-ups, clean-up, alarms."""
