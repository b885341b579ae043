"""Images from the upload to the upstream, over every wire, by API and by socket."""

import base64
import io
import json
from typing import Any

import pytest
from PIL import Image

from tests.fakes.upstream import Upstream
from tests.live import Person
from tests.server import Server

pytestmark = pytest.mark.xdist_group("server")

PLACE = b"48.8584 N, 2.2945 E"


def png(colour: str = "red") -> bytes:
    file = io.BytesIO()
    Image.new("RGBA", (40, 20), colour).save(file, "PNG")
    return file.getvalue()


def photograph() -> bytes:
    """On its side, and with the place where it was taken."""
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = PLACE.decode()
    file = io.BytesIO()
    Image.new("RGB", (40, 20), "blue").save(file, "JPEG", exif=exif)
    assert PLACE in file.getvalue()
    return file.getvalue()


def uploaded(person: Person, image: bytes) -> str:
    status, answer = person.upload(image)
    assert status == 201, answer
    return str(answer["id"])


@pytest.mark.parametrize("other", ["anthropic-eyes", "gemini-eyes"])
def test_images_reach_the_models_of_every_wire_and_go_along_with_follow_ups(person: Person, other: str) -> None:
    first = uploaded(person, png())
    battle = person.battle("eyes", other, prompt="What is it?", mode="named", images=[first])
    with person.watch(battle["id"]) as window:
        assert {end["text"] for end in window.until_ended().values()} == {"1 images: png."}
        second, third = uploaded(person, photograph()), uploaded(person, png("blue"))
        window.send("prompt", text="And these?", images=[second, third])
        turn = window.until("turn")["turn"]
        assert [image["id"] for image in turn["images"]] == [second, third]
        said = "1 images: png. 2 images: jpeg, png."
        assert {end["text"] for end in window.until_ended().values()} == {said}
    with person.watch(battle["id"]) as window:
        turns = window.until("snapshot")["battle"]["turns"]
        assert [[image["id"] for image in turn["images"]] for turn in turns] == [[first], [second, third]]


def test_what_leaves_the_server_is_upright_and_tells_no_place(person: Person, upstream: Upstream) -> None:
    prompt = "Where was this taken?"
    battle = person.battle("eyes", "steady", prompt=prompt, images=[uploaded(person, photograph())])
    with person.watch(battle["id"]) as window:
        window.until_ended()

    def is_this(content: Any) -> bool:
        return isinstance(content, list) and content[-1] == {"type": "text", "text": prompt}

    (content,) = [c for asked in upstream.asked("eyes") for m in asked.messages if is_this(c := m["content"])]
    sent = base64.b64decode(content[0]["image_url"]["url"].partition(",")[2])
    assert PLACE not in sent
    assert Image.open(io.BytesIO(sent)).size == (20, 40)


def test_a_blind_battle_with_an_image_asks_two_that_see(person: Person) -> None:
    status, battle = person.call("POST", "battles/", {"prompt": "Look.", "images": [uploaded(person, png())]})
    assert status == 201, battle
    with person.watch(battle["id"]) as window:
        assert all(end["text"] for end in window.until_ended().values())


def test_images_that_cannot_be_sent_are_refused_on_the_socket_and_by_the_api(person: Person, server: Server) -> None:
    image = uploaded(person, png())
    seeing, unseeing = person.battle("eyes", "steady"), person.battle("steady", "bytes")
    for images, code in (
        (["nonsense"], "frame_invalid"),
        ("nonsense", "frame_invalid"),
        ([image, image], "images_invalid"),
        ([uploaded(Person(server, server.accounts[3]), png())], "images_invalid"),
        (["00000000-0000-4000-8000-000000000000"], "images_invalid"),
    ):
        with person.watch(seeing["id"]) as window:
            window.until_ended()
            window.send("prompt", text="Look.", images=images)
            assert window.until("refused")["code"] == code
    with person.watch(unseeing["id"]) as window:
        window.until_ended()
        window.send("prompt", text="Look.", images=[image])
        refused = window.until("refused")
        assert refused["code"] == "cannot_see"
        assert "axolotl" not in json.dumps(refused).lower()
        window.send("prompt", text="Then without.")
        window.until("turn")
        window.until_ended()
    status, answer = person.call("POST", f"battles/{unseeing['id']}/turns/", {"prompt": "Look.", "images": [image]})
    assert (status, answer["error"]["code"]) == (409, "cannot_see")
    status, _ = person.call("POST", f"battles/{seeing['id']}/turns/", {"prompt": "Look.", "images": [image]})
    assert status == 201


@pytest.mark.parametrize(
    "form", [b"--edge--\r\n", b"--edge\r\nrubbish", b"no form at all", b"--edge\r\n\r\n\xff\r\n--edge--"]
)
def test_a_form_that_is_none_is_refused_in_the_shape_of_all_errors(person: Person, form: bytes) -> None:
    """The web server below Django has a parser of its own, which would answer with nothing."""
    status, answer = person.send_form(form)
    assert status == 400
    assert answer["error"]["message"]
