"""The leaderboard's part of the API, under /api/v1/."""

from django.urls import path

from leaderboard import api

urlpatterns = [
    path("leaderboard/", api.LeaderboardView.as_view(), name="api_leaderboard"),
    path("leaderboard/matrix/", api.MatrixView.as_view(), name="api_leaderboard_matrix"),
]
