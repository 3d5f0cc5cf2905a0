"""Outages, dead workers, full disks, bad input, and tidying up afterwards."""
