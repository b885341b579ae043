"""How the API's description names our two ways in. Imported when the app is ready."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "accounts.authentication.ApiKeyAuthentication"
    name = ["bearer", "apiKey"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[str]]]:
        """Either will do; together in one requirement they would both be needed."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [{"type": "http", "scheme": "bearer"}, {"type": "apiKey", "in": "header", "name": "X-API-Key"}]


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The cookie's real name ends in the port; the description must not change with it."""

    target_class = "accounts.authentication.BrowserSessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "tourney_session", "description": "A browser's session."}
