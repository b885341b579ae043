"""The REST API and its schema."""

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.ApiKeyAuthentication",
        "accounts.authentication.BrowserSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.permissions.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["common.api.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "common.api.Pagination",
    "DEFAULT_SCHEMA_CLASS": "common.openapi.Schema",
    "DEFAULT_THROTTLE_CLASSES": ["accounts.throttles.RequestThrottle"],
    "EXCEPTION_HANDLER": "common.api.exception_handler",
    "DEFAULT_VERSIONING_CLASS": None,
    "NUM_PROXIES": 0,  # common.proxies has put the client's address where Django looks for it
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tourney",
    "DESCRIPTION": "A self-hosted arena for language models.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "ENUM_NAME_OVERRIDES": {
        "SideLabel": ["a", "b"],
        "ReactionValue": "battles.models.Reaction.Value",
        "AgentSide": "conversations.models.Side",
        "JudgingMode": ["single", "pair"],
        "ModeEnum": "battles.models.Battle.Mode",
        "GenerationStatus": "providers.models.GeneratedText.Status",
        "EvaluationMode": "evaluations.models.Run.Mode",
        "JudgmentState": ["ok", "parse", "out_of_range", "refused", "rate", "timeout", "upstream"],
    },
}
