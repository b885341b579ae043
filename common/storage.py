"""Static files with hashed names, JavaScript imports included."""

from typing import Any

from django.contrib.staticfiles.storage import HashedFilesMixin
from servestatic.compress import Compressor
from servestatic.storage import CompressedManifestStaticFilesStorage


class HashedStaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc] # has no types
    """Hashed names; our modules' imports are rewritten too (they must end in a semicolon, or Django skips them). What
    others bring along imports nothing, and to search megabytes of it, or to compress its source maps, takes seconds."""

    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        ("js/*.js", HashedFilesMixin._js_module_import_aggregation_patterns[1]),  # type: ignore[attr-defined]
    )
    manifest_strict = False

    def create_compressor(self, **options: Any) -> Compressor:
        return Compressor(**options | {"extensions": (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")})
