from django.urls import path

from battles import views
from battles.exports import views as exports_views
from battles.imports import views as imports_views

app_name = "battles"

urlpatterns = [
    path("battle/", views.new, name="new"),
    path("lineup/", views.lineup, name="lineup"),
    path("battles/<uuid:battle_id>/", views.detail, name="detail"),
    path("battles/<uuid:battle_id>/delete/", views.delete, name="delete"),
    path("battles/<uuid:battle_id>/restore/", views.restore, name="restore"),
    path("exports/", exports_views.page, name="exports"),
    path("imports/", imports_views.page, name="imports"),
    path("imports/<uuid:job_id>/", imports_views.checked, name="import_checked"),
    path("imports/<uuid:job_id>/confirm/", imports_views.confirm, name="import_confirm"),
    path("history/", views.history, name="history"),
    path("images/<uuid:image_id>/", views.image, name="image"),
    path("s/<slug:token>/", views.shared, name="shared"),
]
