from django.urls import path

from conversations import scenario_views, views

app_name = "conversations"

urlpatterns = [
    path("", views.index, name="index"),
    path("import/", views.import_file, name="import"),
    path("new/", views.new, name="new"),
    path("scenarios/", scenario_views.index, name="scenarios"),
    path("scenarios/new/", scenario_views.new, name="scenario_new"),
    path("scenarios/import/", scenario_views.import_file, name="scenarios_import"),
    path("scenarios/export/", scenario_views.export, name="scenarios_export"),
    path("scenarios/<slug:slug>/", scenario_views.edit, name="scenario"),
    path("scenarios/<slug:slug>/copy/", scenario_views.copy, name="scenario_copy"),
    path("<uuid:conversation_id>/", views.detail, name="detail"),
    path("<uuid:conversation_id>/measures/", views.measures, name="measures"),
    path("<uuid:conversation_id>/delete/", views.delete, name="delete"),
]
