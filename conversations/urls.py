from django.urls import path

from conversations import views

app_name = "conversations"

urlpatterns = [
    path("", views.index, name="index"),
    path("import/", views.import_file, name="import"),
    path("new/", views.new, name="new"),
    path("<uuid:conversation_id>/", views.detail, name="detail"),
    path("<uuid:conversation_id>/delete/", views.delete, name="delete"),
]
