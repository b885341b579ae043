"""Models that are known only from votes that were imported: they stand in leaderboards and are never asked."""

from collections.abc import Collection

from django.db import transaction
from django.utils.text import slugify

from providers.models import LanguageModel

SLUG_LENGTH = 100


def models_known(names: Collection[str]) -> dict[str, int]:
    """The ids of those models that have one of `names` as their name or, failing that, as their slug."""
    known = dict(LanguageModel.objects.filter(slug__in=names).values_list("slug", "pk"))
    return known | dict(LanguageModel.objects.filter(name__in=names).values_list("name", "pk"))


@transaction.atomic
def models_external(*, names: Collection[str]) -> dict[str, int]:
    """The ids of all of `names` (at most 100 characters each); those that are unknown become external models."""
    ids = models_known(names)
    taken = set(LanguageModel.objects.values_list("slug", flat=True))
    for name in sorted(set(names) - set(ids)):
        base = slugify(name)[: SLUG_LENGTH - 6] or "model"
        slug, number = base, 2
        while slug in taken:
            slug, number = f"{base}-{number}", number + 1
        taken.add(slug)
        external = LanguageModel.Status.EXTERNAL
        ids[name] = LanguageModel.objects.create(name=name, slug=slug, upstream_id=name, status=external).pk
    return ids
