def play(site): pass
