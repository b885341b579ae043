"""Round moments on a time axis. Moments are UTC; one without a zone is taken for UTC."""

from datetime import UTC, datetime, timedelta

STEPS = (
    *(timedelta(minutes=m) for m in (1, 5, 15, 30)),
    *(timedelta(hours=h) for h in (1, 3, 6, 12)),
    *(timedelta(days=d) for d in (1, 2, 7, 14)),
)
MONTHS = (1, 3, 6, 12, 24, 60, 120, 240)
MONTH = timedelta(days=30.4)
EPOCH = datetime(1970, 1, 5, tzinfo=UTC)  # a Monday, so that weeks begin on one


def utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def seconds(moment: datetime) -> float:
    """The moment as seconds since 1970."""
    return utc(moment).timestamp()


def _from(value: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)


def _words(moment: datetime, step: timedelta | None) -> str:
    if step is None:
        return f"{moment:%Y}" if moment.month == 1 else f"{moment:%b}"
    if step < timedelta(days=1):
        return f"{moment:%H:%M}" if moment.hour or moment.minute else f"{moment.day} {moment:%b}"
    return f"{moment.day} {moment:%b}"


def date_ticks(low: float, high: float, count: int) -> list[tuple[float, str]]:
    """At most about `count` round moments within [low, high], in seconds since 1970, with their words."""
    span = timedelta(seconds=high - low)
    step = next((step for step in STEPS if span / step <= count), None)
    if step is not None:
        moment = EPOCH + step * -((EPOCH - _from(low)) // step)
        found = []
        while moment.timestamp() <= high:
            found.append((moment.timestamp(), _words(moment, step)))
            moment += step
        return found
    months = next((months for months in MONTHS if span / (MONTH * months) <= count), MONTHS[-1])
    first = _from(low)
    number = -(-(first.year * 12 + first.month - 1) // months) * months
    found = []
    while number // 12 < 9999:
        moment = datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)
        if moment.timestamp() > high:
            break
        if moment.timestamp() >= low:
            found.append((moment.timestamp(), f"{moment:%Y}" if months >= 12 else _words(moment, None)))
        number += months
    return found
