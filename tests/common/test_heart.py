"""A heart beats beside the work, also after a beat that failed, and is still afterwards."""

import threading

from common.heart import Heart


def test_it_beats_until_the_end_of_the_work() -> None:
    beats: list[int] = []
    enough = threading.Event()

    def beat() -> None:
        beats.append(len(beats))
        if len(beats) == 1:
            raise OSError("the database is away")
        enough.set()

    with Heart(beat, seconds=0.001):
        assert enough.wait(10)
    hearts = [thread for thread in threading.enumerate() if isinstance(thread, Heart)]
    for heart in hearts:
        heart.join(10)
    assert not any(heart.is_alive() for heart in hearts)
    assert beats[:2] == [0, 1]
