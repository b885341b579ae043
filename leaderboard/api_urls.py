"""The leaderboard's part of the API, under /api/v1/."""

from django.urls import path

from leaderboard import api

urlpatterns = [
    path("leaderboard/", api.LeaderboardView.as_view(), name="api_leaderboard"),
    path("leaderboard/boards/", api.BoardsView.as_view(), name="api_leaderboard_boards"),
    path("leaderboard/history/", api.HistoryView.as_view(), name="api_leaderboard_history"),
    path("leaderboard/matrix/", api.MatrixView.as_view(), name="api_leaderboard_matrix"),
    path("leaderboard/mine/", api.MyLeaderboardView.as_view(), name="api_leaderboard_mine"),
]
