from django.urls import path

from battles import api

urlpatterns = [
    path("battles/", api.BattlesView.as_view(), name="api-battles"),
    path("battles/<uuid:battle_id>/", api.BattleView.as_view(), name="api-battle"),
    path("battles/<uuid:battle_id>/restore/", api.RestoreView.as_view(), name="api-restore"),
    path("battles/<uuid:battle_id>/turns/", api.TurnsView.as_view(), name="api-turns"),
    path("battles/<uuid:battle_id>/preference/", api.PreferenceView.as_view(), name="api-preference"),
    path("battles/<uuid:battle_id>/regenerate/", api.RegenerateView.as_view(), name="api-regenerate"),
    path("battles/<uuid:battle_id>/stop/", api.StopView.as_view(), name="api-stop"),
    path("battles/<uuid:battle_id>/reactions/", api.ReactionView.as_view(), name="api-reactions"),
    path("battles/<uuid:battle_id>/share/", api.ShareView.as_view(), name="api-share"),
]
