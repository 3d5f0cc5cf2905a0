"""Talk with people: parser of comment commands, replies, and notices outside GitHub."""
