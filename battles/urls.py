from django.urls import path

from battles import views

app_name = "battles"

urlpatterns = [
    path("battle/", views.new, name="new"),
    path("battles/<uuid:battle_id>/", views.detail, name="detail"),
    path("battles/<uuid:battle_id>/delete/", views.delete, name="delete"),
    path("battles/<uuid:battle_id>/restore/", views.restore, name="restore"),
    path("history/", views.history, name="history"),
    path("s/<slug:token>/", views.shared, name="shared"),
]
