"""Who is asking: a program by its key, or a person by the browser's session."""

from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts import selectors, services
from accounts.models import ApiKey, User


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer KEY` or `X-API-Key: KEY`. A key that does not work is a 401, never an anonymous."""

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        scheme, _, key = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer":
            key = request.headers.get("X-API-Key", "")
            if not key:
                return None
        found = selectors.apikey_find(key.strip())
        if found is None:
            raise AuthenticationFailed("This key is wrong, expired or revoked. Make a new one on the account page.")
        services.apikey_used(apikey=found)
        return found.user, found

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


class BrowserSessionAuthentication(SessionAuthentication):
    """The session cookie; writing needs the CSRF token in `X-CSRFToken`."""

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'
