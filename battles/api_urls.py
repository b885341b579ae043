from django.urls import path, re_path

from battles import api, arena_api, image_api
from battles.exports import api as exports_api
from battles.imports import api as imports_api

urlpatterns = [
    path("battles/", api.BattlesView.as_view(), name="api_battles"),
    path("battles/<uuid:battle_id>/", api.BattleView.as_view(), name="api_battle"),
    path("battles/<uuid:battle_id>/restore/", api.RestoreView.as_view(), name="api_restore"),
    path("battles/<uuid:battle_id>/turns/", api.TurnsView.as_view(), name="api_turns"),
    path("battles/<uuid:battle_id>/preference/", api.PreferenceView.as_view(), name="api_preference"),
    path("battles/<uuid:battle_id>/preference/withdraw/", api.WithdrawView.as_view(), name="api_withdraw"),
    path("battles/<uuid:battle_id>/regenerate/", api.RegenerateView.as_view(), name="api_regenerate"),
    path("battles/<uuid:battle_id>/stop/", api.StopView.as_view(), name="api_stop"),
    path("battles/<uuid:battle_id>/reactions/", api.ReactionView.as_view(), name="api_reactions"),
    path("battles/<uuid:battle_id>/share/", api.ShareView.as_view(), name="api_share"),
    path("pools/", api.PoolsView.as_view(), name="api_pools"),
    path("images/", image_api.ImagesView.as_view(), name="api_images"),
    path("images/<uuid:image_id>/", image_api.ImageView.as_view(), name="api_image"),
    # The annotation tool's scripts write these with or without a slash at the end.
    re_path(r"^arena/run/?$", arena_api.RunView.as_view(), name="api_arena_run"),
    re_path(r"^arena/preference/?$", arena_api.ArenaPreferenceView.as_view(), name="api_arena_preference"),
    re_path(r"^arena/leaderboard/?$", arena_api.ArenaLeaderboardView.as_view(), name="api_arena_leaderboard"),
    re_path(r"^arena/export_dpo/?$", arena_api.ArenaExportView.as_view(), name="api_arena_export"),
    re_path(r"^arena/suggest_pairs/?$", arena_api.SuggestView.as_view(), name="api_arena_suggest"),
    path("imports/battles/", imports_api.BattlesImportView.as_view(), name="api_import_battles"),
    path("imports/preferences/", imports_api.PreferencesImportView.as_view(), name="api_import_preferences"),
    *(path(f"exports/{kind}/", view, name=f"api_export_{kind}") for kind, view in exports_api.VIEWS.items()),
]
