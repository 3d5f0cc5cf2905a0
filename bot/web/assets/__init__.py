"""What pages load: style, scripts and icons."""
