"""All routes. Pages first, then the API."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView

from arena_project import api, methodology, overview, usage, views
from arena_project.people import views as people

# The admin's own log-in has no limit; allauth's has.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

api_v1: list[URLPattern | URLResolver] = [
    path("health/", api.HealthView.as_view(), name="api_health"),
    path("schema/", SpectacularAPIView.as_view(), name="api_schema"),
    path("docs/", views.ApiDocsView.as_view(url_name="api_schema"), name="api_docs"),
    path("usage/", usage.UsageView.as_view(), name="api_usage"),
    path("account/", people.AccountView.as_view(), name="api_account"),
    path("account/export/", people.AccountExportView.as_view(), name="api_account_export"),
    path("", include("accounts.api_urls")),
    path("", include("providers.api_urls")),
    path("", include("battles.api_urls")),
    path("", include("conversations.api_urls")),
    path("", include("evaluations.api_urls")),
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
    path("account/export/", people.export, name="account_export"),
    path("account/close/", people.close, name="account_close"),
    path("account/", include("accounts.urls")),
    path("account/", include("allauth.account.urls")),
    path("admin/overview/", overview.overview, name="overview"),
    path("admin/", admin.site.urls),
    path("api/v1/", include(api_v1)),
]

handler400 = views.bad_request
handler403 = views.permission_denied
handler404 = views.page_not_found
handler500 = views.server_error
