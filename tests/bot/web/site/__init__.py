"""What pages share: a patch as HTML."""
