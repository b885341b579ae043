"""The root of every error that a caller may catch and a person may read."""


class TourneyError(Exception):
    """A refusal in plain words.

    `code` is stable and machine-readable, `status` is the HTTP status that the API answers with, and the message
    says what happened and what to do about it. It never holds text from a model's provider.
    """

    code = "error"
    status = 400
    message = "This is not possible."

    def __init__(self, message: str = "", *, fields: dict[str, list[str]] | None = None) -> None:
        super().__init__(message or self.message)
        self.fields = fields or {}


class NotFound(TourneyError):
    code = "not_found"
    status = 404
    message = "There is nothing here, or it is not yours."


class NotAllowed(TourneyError):
    code = "not_allowed"
    status = 403
    message = "You may not do this."


class Conflict(TourneyError):
    code = "conflict"
    status = 409
    message = "This was done already."


class StorageFailed(TourneyError):
    """The disk took no file: it is full, or may not be written."""

    code = "storage_failed"
    status = 507
    message = "The server cannot store files right now. Nothing that was saved is lost; please tell its administrator."


class TooMany(TourneyError):
    """A limit was reached; `retry_after` is in seconds."""

    code = "too_many"
    status = 429
    message = "That was too much at once. Please wait a little."

    def __init__(self, message: str = "", *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after
