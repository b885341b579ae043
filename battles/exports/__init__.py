"""Preferences as files that trainers and statisticians load. `export.py` is the way in; a kind of file is one line of
`kinds.KINDS`, a format one of `formats.FORMATS`."""
