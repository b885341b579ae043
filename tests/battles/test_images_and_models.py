"""Only models that can look at images are asked about one, and who cannot is told to nobody before the vote."""

import io
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from PIL import Image as Picture

from accounts.models import User
from battles import services, state
from battles.errors import CannotSee, TooFewSeeing
from battles.models import Battle, Image, Turn
from battles.selectors import battle_whole
from providers.adapters.base import ErrorKind, ProviderError
from providers.models import LanguageModel
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> Any:
    with override_settings(MEDIA_ROOT=tmp_path):
        yield


@pytest.fixture
def owner() -> User:
    return factories.user()


def image_of(owner: User) -> UUID:
    file = io.BytesIO()
    Picture.new("RGB", (10, 10), "red").save(file, "PNG")
    file.seek(0)
    return services.image_add(owner=owner, file=file).id


def models(*sight: bool, **fields: Any) -> list[LanguageModel]:
    return [factories.language_model(sees_images=sees, **fields) for sees in sight]


def test_a_blind_battle_with_an_image_draws_only_models_that_see(owner: User) -> None:
    all_models = models(True, False, True, False, False)
    seeing = {model.pk for model in all_models if model.sees_images}
    for _ in range(10):
        begun = services.battle_start(owner=owner, prompt="Look.", images=[image_of(owner)])
        assert {side.model_id for side in begun.battle.sides.all()} == seeing


def test_without_an_image_everybody_is_drawn(owner: User) -> None:
    everybody = {model.pk for model in models(True, True, False)}
    drawn = {side.model_id for _ in range(40) for side in services.battle_create(owner=owner).sides.all()}
    assert drawn == everybody


@pytest.mark.parametrize("sight", [(), (True,), (True, False, False)])
def test_where_fewer_than_two_see_a_battle_with_an_image_is_refused_and_the_image_stays(
    owner: User, sight: tuple[bool, ...]
) -> None:
    models(*sight)
    image = image_of(owner)
    with pytest.raises(TooFewSeeing, match="look at images"):
        services.battle_start(owner=owner, prompt="Look.", images=[image])
    assert Image.objects.get().turn is None
    assert not Battle.objects.exists()


def test_a_pool_is_drawn_from_as_far_as_it_sees(owner: User) -> None:
    slugs = [model.slug for model in models(True, False, True, False)]
    begun = services.battle_start(owner=owner, prompt="Look.", models=slugs, images=[image_of(owner)])
    assert all(side.model.sees_images for side in begun.battle.sides.all())
    with pytest.raises(TooFewSeeing):
        services.battle_start(owner=owner, prompt="Look.", models=slugs[:2], images=[image_of(owner)])


def test_a_named_battle_says_who_cannot_see(owner: User) -> None:
    seeing, unseeing = models(True, False)
    with pytest.raises(CannotSee, match=f"{unseeing.name} cannot look at images"):
        services.battle_start(
            owner=owner,
            prompt="Look.",
            mode=Battle.Mode.NAMED,
            models=[seeing.slug, unseeing.slug],
            images=[image_of(owner)],
        )
    assert not Battle.objects.exists()


def test_a_line_up_with_an_image_is_of_models_that_see(owner: User) -> None:
    *_, unseeing = all_models = models(True, True, True, False)
    seeing = {model.pk for model in all_models if model.sees_images}
    start = {"owner": owner, "prompt": "Look.", "mode": Battle.Mode.LINEUP}
    for how in ({"is_blind": True, "count": 3}, {"is_blind": False}):
        begun = services.battle_start(**start, **how, images=[image_of(owner)])
        assert {side.model_id for side in begun.battle.sides.all()} == seeing
    slugs = [model.slug for model in all_models]
    with pytest.raises(CannotSee, match=unseeing.name):
        services.battle_start(**start, is_blind=False, models=slugs, images=[image_of(owner)])


@pytest.mark.parametrize("sight", [(True, False), (False, True), (False, False)])
def test_a_blind_follow_up_with_an_image_is_refused_without_a_word_on_who(
    owner: User, sight: tuple[bool, bool]
) -> None:
    battle = factories.battle(owner, models=models(*sight))
    refusals = set()
    with pytest.raises(CannotSee) as refusal:
        services.turn_begin(battle_id=battle.id, owner=owner, prompt="Look.", images=[image_of(owner)])
    refusals.add(str(refusal.value))
    assert not any(side.model.name in text for side in battle.sides.all() for text in refusals)
    assert "one" not in str(refusal.value).split()
    assert Turn.objects.count() == 1
    services.turn_begin(battle_id=battle.id, owner=owner, prompt="Then without.")


def test_the_state_tells_who_takes_images_only_after_the_vote(owner: User) -> None:
    shown = []
    for sight in ((True, True), (True, False)):
        battle = factories.battle(owner, models=models(*sight))
        before = state.battle_state(battle_whole(battle_id=battle.id, viewer=owner))["takes_images"]
        services.preference_record(battle_id=battle.id, voter=owner, choice="tie")
        after = state.battle_state(battle_whole(battle_id=battle.id, viewer=owner))["takes_images"]
        shown.append((before, after))
    assert shown == [(True, True), (True, False)]


def test_a_side_that_is_drawn_again_can_look_at_the_images_too(owner: User) -> None:
    models(True, True, False, False)
    begun = services.battle_start(owner=owner, prompt="Look.", images=[image_of(owner)])
    failed = begun.requests[0].response
    error = ProviderError(ErrorKind.UPSTREAM, "fell over")
    assert services.side_redraw(response_id=failed.id, error=error) is None
    (third,) = models(True)
    request = services.side_redraw(response_id=failed.id, error=error)
    assert request is not None
    assert request.target.upstream_id == third.upstream_id
    assert [len(message.images) for message in request.messages] == [1]


def test_a_model_that_lost_its_sight_is_asked_on_without_the_earlier_images(owner: User) -> None:
    models(True, True)
    begun = services.battle_start(owner=owner, prompt="Look.", images=[image_of(owner)])
    begun.turn.responses.update(status="finished", text="A red box.")
    LanguageModel.objects.update(sees_images=False)
    later = services.turn_begin(battle_id=begun.battle.id, owner=owner, prompt="Sure?")
    assert {len(message.images) for request in later.requests for message in request.messages} == {0}


def test_an_image_whose_file_is_lost_costs_no_answer(owner: User) -> None:
    models(True, True)
    begun = services.battle_start(owner=owner, prompt="Look.", images=[image_of(owner)])
    begun.turn.responses.update(status="finished", text="A red box.")
    Path(Image.objects.get().file.path).unlink()
    later = services.turn_begin(battle_id=begun.battle.id, owner=owner, prompt="Sure?")
    assert [len(message.images) for message in later.requests[0].messages] == [0, 0, 0]


@pytest.mark.parametrize(("sight", "is_offered"), [((True, True), True), ((True, False), False)])
def test_the_page_offers_images_only_where_two_models_see(
    owner: User, sight: tuple[bool, ...], is_offered: bool
) -> None:
    models(*sight)
    battle = factories.battle(owner, models=models(False, False))
    client = Client()
    client.force_login(owner)
    for path in (reverse("battles:new"), reverse("battles:lineup"), reverse("battles:detail", args=[battle.id])):
        page = client.get(path).content.decode()
        assert ("Fewer than two models here can look at images" in page) is not is_offered
