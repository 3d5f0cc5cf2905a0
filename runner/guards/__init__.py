"""Guards over a change before it leaves: contract, shared scans, report."""
