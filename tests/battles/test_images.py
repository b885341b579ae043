"""Images beside prompts: who may upload, send, see and delete them, and what becomes of them."""

import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from PIL import Image as Picture
from pytest_django import DjangoCaptureOnCommitCallbacks
from rest_framework.test import APIClient

from accounts.models import User
from battles import images, services, state
from battles.errors import ImageSent, ImagesInvalid, TooManyUnsent
from battles.models import Battle, Image, Response
from battles.selectors import battle_whole
from common.errors import NotFound, TooMany
from common.images import ImageInvalid
from tests import factories

pytestmark = pytest.mark.django_db

Api = Callable[..., APIClient]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> Any:
    with override_settings(MEDIA_ROOT=tmp_path):
        yield


def png(colour: str = "red", size: tuple[int, int] = (40, 20)) -> bytes:
    file = io.BytesIO()
    Picture.new("RGB", size, colour).save(file, "PNG")
    return file.getvalue()


def uploaded(owner: User, colour: str = "red") -> Image:
    return services.image_add(owner=owner, file=io.BytesIO(png(colour)))


def shared_battle(owner: User, image: Image) -> Battle:
    """A battle with the image in its first turn, after the vote, with an open link."""
    battle = factories.battle(owner)
    Image.objects.filter(pk=image.pk).update(turn=battle.turns.get())
    services.preference_record(battle_id=battle.id, voter=owner, choice="a")
    return services.battle_share(battle_id=battle.id, owner=owner)


def status_of(image: Image, viewer: User | None = None) -> int:
    client = Client()
    if viewer:
        client.force_login(viewer)
    return client.get(reverse("battles:image", args=[image.id])).status_code


def test_an_upload_answers_where_the_image_is_and_the_image_is_there(api_client: Api) -> None:
    owner = factories.user()
    file = SimpleUploadedFile("../../etc/passwd.svg", png(size=(3000, 100)), content_type="image/svg+xml")
    answer = api_client(owner, scopes=("run",)).post(reverse("api_images"), {"file": file}, format="multipart")
    assert answer.status_code == 201, answer.json()
    assert {key: answer.json()[key] for key in ("width", "height")} == {"width": 1568, "height": 52}
    client = Client()
    client.force_login(owner)
    shown = client.get(answer.json()["url"])
    assert shown.status_code == 200
    assert shown.headers["Content-Type"] == "image/png"
    assert shown.headers["X-Content-Type-Options"] == "nosniff"
    assert shown.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert shown.headers["Cache-Control"].startswith("private, max-age=")
    assert Picture.open(io.BytesIO(shown.content)).size == (1568, 52)
    stored = Path(Image.objects.get().file.path)
    assert stored.name == f"{answer.json()['id']}.png"


@pytest.mark.parametrize(
    ("file", "code", "status"),
    [
        (b"<svg onload='alert(1)'/>", "image_invalid", 400),
        (b"", "image_invalid", 400),
        (png() + bytes(1024 * 1024), "too_large", 413),
        (None, "invalid", 400),
        ("only text", "invalid", 400),
    ],
)
@override_settings(IMAGE_MAX_MB=1)
def test_a_file_that_is_no_image_or_too_large_is_refused_in_words(
    api_client: Api, file: bytes | str | None, code: str, status: int
) -> None:
    content = {} if file is None else {"file": SimpleUploadedFile("a.png", file) if isinstance(file, bytes) else file}
    answer = api_client().post(reverse("api_images"), content, format="multipart")
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.json()["error"]["message"]
    assert not Image.objects.exists()


def test_a_form_that_says_it_is_too_large_is_not_read(api_client: Api) -> None:
    answer = api_client().post(
        reverse("api_images"), {"file": io.BytesIO(png())}, format="multipart", CONTENT_LENGTH=str(50 * 1024 * 1024)
    )
    assert answer.status_code == 413


def test_json_is_no_upload(api_client: Api) -> None:
    assert api_client().post(reverse("api_images"), {"file": "x"}, format="json").status_code == 415


def test_an_upload_that_is_repeated_with_its_key_stores_one_image(api_client: Api) -> None:
    client = api_client()

    def send(colour: str) -> Any:
        form = {"file": SimpleUploadedFile("a.png", png(colour))}
        return client.post(reverse("api_images"), form, format="multipart", HTTP_IDEMPOTENCY_KEY="once")

    assert send("red").json() == send("red").json()
    assert Image.objects.count() == 1
    assert send("blue").status_code == 409


def test_an_image_is_seen_by_its_owner_alone_until_its_battle_is_shared() -> None:
    owner, other, admin = factories.user(), factories.user(), factories.staff()
    image = uploaded(owner)
    assert [status_of(image, viewer) for viewer in (owner, other, admin, None)] == [200, 404, 404, 404]
    battle = shared_battle(owner, image)
    assert [status_of(image, viewer) for viewer in (owner, other, None)] == [200, 200, 200]
    Battle.objects.filter(pk=battle.pk).update(share_token=None)
    assert [status_of(image, viewer) for viewer in (owner, other, None)] == [200, 404, 404]


def test_a_share_link_does_not_open_the_images_of_later_turns() -> None:
    owner = factories.user()
    battle = shared_battle(owner, uploaded(owner))
    later = uploaded(owner)
    turn = battle.turns.create(number=2, prompt="And this?")
    Image.objects.filter(pk=later.pk).update(turn=turn)
    assert [status_of(later, viewer) for viewer in (owner, None)] == [200, 404]


def test_a_deleted_battle_hides_its_images_and_an_undo_brings_them_back() -> None:
    owner = factories.user()
    image = uploaded(owner)
    battle = shared_battle(owner, image)
    services.battle_delete(battle_id=battle.id, owner=owner)
    assert [status_of(image, viewer) for viewer in (owner, None)] == [404, 404]
    services.battle_restore(battle_id=battle.id, owner=owner)
    assert [status_of(image, viewer) for viewer in (owner, None)] == [200, 200]


def test_an_image_whose_file_is_lost_is_not_found() -> None:
    owner = factories.user()
    image = uploaded(owner)
    Path(image.file.path).unlink()
    assert status_of(image, owner) == 404


@pytest.mark.parametrize("with_what", ["battle", "owner"])
def test_files_go_with_their_battle_and_their_owner(
    with_what: str, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    owner = factories.user()
    image = uploaded(owner)
    battle = shared_battle(owner, image)
    file = Path(image.file.path)
    with django_capture_on_commit_callbacks(execute=True):
        battle.delete() if with_what == "battle" else owner.delete()
    assert not file.exists()
    assert not Image.objects.exists()


def test_what_nobody_sent_for_a_day_is_purged_and_the_rest_stays(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    owner = factories.user()
    stale, fresh, sent = (uploaded(owner) for _ in range(3))
    shared_battle(owner, sent)
    Image.objects.exclude(pk=fresh.pk).update(created_at=timezone.now() - timedelta(hours=25))
    with django_capture_on_commit_callbacks(execute=True):
        assert services.images_purge() == 1
    assert set(Image.objects.all()) == {fresh, sent}
    assert [Path(image.file.path).exists() for image in (stale, fresh, sent)] == [False, True, True]


def test_only_ones_own_unsent_image_can_be_deleted(
    api_client: Api, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    owner = factories.user()
    image, sent = uploaded(owner), uploaded(owner)
    shared_battle(owner, sent)
    path = Path(image.file.path)
    assert api_client().delete(reverse("api_image", args=[image.id])).status_code == 404
    with pytest.raises(ImageSent):
        services.image_remove(image_id=sent.id, owner=owner)
    with django_capture_on_commit_callbacks(execute=True):
        assert api_client(owner, scopes=("run",)).delete(reverse("api_image", args=[image.id])).status_code == 204
    assert not path.exists()
    with pytest.raises(NotFound):
        services.image_remove(image_id=image.id, owner=owner)


@override_settings(IMAGES_PER_HOUR=2)
def test_a_person_may_upload_so_many_an_hour_and_no_more() -> None:
    owner = factories.user()
    uploaded(owner)
    with pytest.raises(ImageInvalid):
        services.image_add(owner=owner, file=io.BytesIO(b"rubbish counts too"))
    with pytest.raises(TooMany):
        uploaded(owner)
    uploaded(factories.user())


def test_nobody_may_keep_many_images_unsent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "UNSENT_MAX", 2)
    owner = factories.user()
    uploaded(owner)
    sent = uploaded(owner)
    with pytest.raises(TooManyUnsent):
        uploaded(owner)
    shared_battle(owner, sent)
    uploaded(owner)


def seeing(count: int = 2) -> None:
    for _ in range(count):
        factories.language_model(sees_images=True)


def test_images_go_with_a_prompt_in_the_order_in_which_they_were_named(api_client: Api) -> None:
    seeing()
    owner = factories.user()
    first, second = uploaded(owner, "red"), uploaded(owner, "blue")
    begun = services.battle_start(owner=owner, prompt="Compare.", images=[second.id, first.id])
    for request in begun.requests:
        (message,) = request.messages
        assert message.content == "Compare."
        assert [image.media_type for image in message.images] == ["image/png"] * 2
        colours = [Picture.open(io.BytesIO(image.data)).getpixel((0, 0)) for image in message.images]
        assert colours == [(0, 0, 255), (255, 0, 0)]
    shown = state.battle_state(battle_whole(battle_id=begun.battle.id, viewer=owner))
    assert [image["id"] for image in shown["turns"][0]["images"]] == [str(second.id), str(first.id)]


def test_images_of_earlier_turns_go_along_and_those_of_an_unanswered_turn_join_the_next() -> None:
    seeing()
    owner = factories.user()
    begun = services.battle_start(owner=owner, prompt="What is it?", images=[uploaded(owner).id])
    answered = Response.objects.filter(turn=begun.turn, side__label="a")
    answered.update(status=Response.Status.FINISHED, text="A red box.")
    Response.objects.filter(turn=begun.turn, side__label="b").update(status=Response.Status.FAILED)
    later = services.turn_begin(
        battle_id=begun.battle.id, owner=owner, prompt="And now?", images=[uploaded(owner, "blue").id]
    )
    sent = {
        request.response.side.label: [len(message.images) for message in request.messages] for request in later.requests
    }
    assert sent == {"a": [1, 0, 1], "b": [2]}


def test_nothing_is_changed_by_images_that_cannot_be_sent() -> None:
    seeing()
    owner = factories.user()
    own, others, sent = uploaded(owner), uploaded(factories.user()), uploaded(owner)
    shared_battle(owner, sent)
    battles = Battle.objects.count()
    for ids in (
        [own.id, others.id],
        [own.id, sent.id],
        [own.id, uuid4()],
        [own.id, own.id],
        [uuid4() for _ in "12345"],
    ):
        with pytest.raises(ImagesInvalid):
            services.battle_start(owner=owner, prompt="Look.", images=cast(list[UUID], ids))
    assert Battle.objects.count() == battles
    own.refresh_from_db()
    assert own.turn_id is None


def test_the_api_takes_images_with_battles_and_turns(api_client: Api) -> None:
    owner = factories.user()
    battle = factories.battle(owner, models=[factories.language_model(sees_images=True) for _ in range(2)])
    image = uploaded(owner)
    client = api_client(owner, scopes=("read", "run"))
    turns = reverse("api_turns", args=[battle.id])
    for images_given in (["nonsense"], "nonsense", [str(uuid4())], [str(uuid4()) for _ in "12345"], 7):
        answer = client.post(turns, {"prompt": "Look.", "images": images_given}, format="json")
        assert answer.status_code == 400, answer.json()
    shown = client.get(reverse("api_battle", args=[battle.id])).json()
    assert shown["turns"][0]["images"] == []
    Image.objects.filter(pk=image.pk).update(turn=battle.turns.get())
    shown = client.get(reverse("api_battle", args=[battle.id])).json()
    assert shown["turns"][0]["images"] == [
        {"id": str(image.id), "url": f"/images/{image.id}/", "width": 40, "height": 20}
    ]


def test_the_history_says_how_many_images_went_with_a_battle() -> None:
    owner = factories.user()
    shared_battle(owner, uploaded(owner))
    client = Client()
    client.force_login(owner)
    assert "1 image" in client.get(reverse("battles:history")).content.decode()


def test_the_shared_page_shows_the_images() -> None:
    owner = factories.user()
    image = uploaded(owner)
    battle = shared_battle(owner, image)
    page = Client().get(reverse("battles:shared", args=[battle.share_token])).content.decode()
    assert f'src="/images/{image.id}/"' in page
