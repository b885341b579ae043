"""All routes. Pages first, then the API."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView

from arena_project import api, methodology, usage, views

api_v1: list[URLPattern | URLResolver] = [
    path("health/", api.HealthView.as_view(), name="api_health"),
    path("schema/", SpectacularAPIView.as_view(), name="api_schema"),
    path("docs/", views.ApiDocsView.as_view(url_name="api_schema"), name="api_docs"),
    path("usage/", usage.UsageView.as_view(), name="api_usage"),
    path("", include("accounts.api_urls")),
    path("", include("providers.api_urls")),
    path("", include("battles.api_urls")),
    path("", include("conversations.api_urls")),
    path("", include("leaderboard.api_urls")),
]

urlpatterns = [
    path("", views.welcome, name="welcome"),
    path("", include("battles.urls")),
    path("leaderboard/methodology/", methodology.page, name="methodology"),
    path("conversations/", include("conversations.urls")),
    path("leaderboard/", include("leaderboard.urls")),
    path("evaluations/", include("evaluations.urls")),
    path("account/usage/", usage.page, name="usage"),
    path("account/", include("accounts.urls")),
    path("account/", include("allauth.account.urls")),
    path("admin/", admin.site.urls),
    path("api/v1/", include(api_v1)),
]

handler400 = views.bad_request
handler403 = views.permission_denied
handler404 = views.page_not_found
handler500 = views.server_error
