"""Static files with hashed names, JavaScript imports included."""

from servestatic.storage import CompressedManifestStaticFilesStorage


class HashedStaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc] # has no types
    """Hashed names; module imports are rewritten too (they must end in a semicolon, or Django skips them)."""

    support_js_module_import_aggregation = True
    manifest_strict = False
