from django.urls import path

from conversations import scenario_views, views
from conversations.experiments import views as experiment_views

app_name = "conversations"

urlpatterns = [
    path("", views.index, name="index"),
    path("import/", views.import_file, name="import"),
    path("new/", views.new, name="new"),
    path("experiments/", experiment_views.index, name="experiments"),
    path("experiments/new/", experiment_views.new, name="experiment_new"),
    path("experiments/<uuid:experiment_id>/", experiment_views.detail, name="experiment"),
    path("experiments/<uuid:experiment_id>/analyse/", experiment_views.analyse, name="experiment_analyse"),
    path("experiments/<uuid:experiment_id>/start/", experiment_views.act, {"what": "start"}, name="experiment_start"),
    path(
        "experiments/<uuid:experiment_id>/cancel/", experiment_views.act, {"what": "cancel"}, name="experiment_cancel"
    ),
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
