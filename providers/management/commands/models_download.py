"""Brings models here for our own engines."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from providers.engines.downloads import DownloadFailed, Source, broken_in, download, listed


class Command(BaseCommand):
    help = (
        "Download models from a hub into MODELS: pinned, resumable, checked. Without names: list those that are here."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "models", nargs="*", metavar="MODEL", help="organisation/name or organisation/name@revision"
        )
        parser.add_argument("--verify", action="store_true", help="read every byte of what is here, and ask no hub")
        parser.add_argument("--offline", action="store_true", help="ask no hub: fail where something is missing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            sources = [Source.read(text) for text in options["models"]]
            if options["verify"]:
                return self.verify(sources)
            for source in sources:
                is_offline = options["offline"] or settings.MODELS_OFFLINE
                folder = download(source, settings.MODELS, self.stdout.write, is_offline=is_offline)
                self.stdout.write(str(folder))
        except DownloadFailed as failure:
            raise CommandError(str(failure)) from None
        if not sources:
            for folder, manifest in listed(settings.MODELS):
                size = sum(mark.size for mark in manifest.files) / 1e9
                self.stdout.write(f"{manifest.hub_id}@{manifest.commit}  {size:.2f} GB  {folder}")

    def verify(self, sources: list[Source]) -> None:
        here = [folder for folder, _ in listed(settings.MODELS)]
        folders = [source.folder_in(settings.MODELS) for source in sources] or here
        broken = [f"{folder.name}/{name}" for folder in folders for name in broken_in(folder)]
        if broken:
            raise CommandError(f"Missing or not as they were downloaded: {', '.join(broken)}. Download them again.")
        self.stdout.write(f"{len(folders)} models are whole.")
