"""Policy file: model, reader, validation, messages."""
