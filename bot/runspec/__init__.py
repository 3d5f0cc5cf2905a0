"""Run specifications for workers: briefing, stages, retries."""
