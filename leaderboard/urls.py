"""Pages, under /leaderboard/."""

from django.urls import path

from leaderboard import files, views

app_name = "leaderboard"
urlpatterns = [
    path("", views.index, name="index"),
    path("mine/", views.mine, name="mine"),
    path("methodology/", views.methodology, name="methodology"),
    path("table.<slug:ending>", files.table, name="table"),
    path("charts/<slug:name>.<slug:ending>", files.chart, name="chart"),
    path("badge/<slug:slug>.svg", files.badge, name="badge"),
]
