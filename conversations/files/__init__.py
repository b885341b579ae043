"""Conversations as files: out in four formats, in as JSON. docs/conversations.md describes them."""
