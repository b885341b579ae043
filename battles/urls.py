from django.urls import path

from battles import views
from battles.exports import views as exports_views

app_name = "battles"

urlpatterns = [
    path("battle/", views.new, name="new"),
    path("lineup/", views.lineup, name="lineup"),
    path("battles/<uuid:battle_id>/", views.detail, name="detail"),
    path("battles/<uuid:battle_id>/delete/", views.delete, name="delete"),
    path("battles/<uuid:battle_id>/restore/", views.restore, name="restore"),
    path("exports/", exports_views.page, name="exports"),
    path("history/", views.history, name="history"),
    path("images/<uuid:image_id>/", views.image, name="image"),
    path("s/<slug:token>/", views.shared, name="shared"),
]
