"""The scripted model that the demo's agents talk to."""
