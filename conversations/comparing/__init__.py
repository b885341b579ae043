"""People compare finished conversations that differ in one model, without knowing which."""
