from django.urls import path

from conversations import scenario_views, views
from conversations.comparing import views as comparing_views
from conversations.experiments import analyse_views
from conversations.experiments import views as experiment_views

app_name = "conversations"
EXPERIMENT = "experiments/<uuid:experiment_id>/"

urlpatterns = [
    path("", views.index, name="index"),
    path("import/", views.import_file, name="import"),
    path("new/", views.new, name="new"),
    path("compare/", comparing_views.index, name="compare"),
    path("compare/<uuid:pair_id>/", comparing_views.detail, name="pair"),
    path("compare/<uuid:pair_id>/vote/", comparing_views.vote, name="pair_vote"),
    path("compare/<uuid:pair_id>/withdraw/", comparing_views.withdraw, name="pair_withdraw"),
    path("experiments/", experiment_views.index, name="experiments"),
    path("experiments/new/", experiment_views.new, name="experiment_new"),
    path("experiments/file/", experiment_views.from_file, name="experiment_file"),
    path("experiments/compare/", analyse_views.compare, name="experiments_compare"),
    path(
        "experiments/compare/charts/<slug:name>.<slug:ending>",
        analyse_views.compare_chart,
        name="experiments_compare_chart",
    ),
    path(EXPERIMENT, experiment_views.detail, name="experiment"),
    path(f"{EXPERIMENT}changes/", experiment_views.changes, name="experiment_changes"),
    path(f"{EXPERIMENT}analyse/", analyse_views.analyse, name="experiment_analyse"),
    path(f"{EXPERIMENT}summary.csv", analyse_views.summary, name="experiment_summary"),
    path(f"{EXPERIMENT}charts/<slug:name>.<slug:ending>", analyse_views.chart, name="experiment_chart"),
    path(f"{EXPERIMENT}sharing/", experiment_views.share, name="experiment_share"),
    path(f"{EXPERIMENT}start/", experiment_views.act, {"what": "start"}, name="experiment_start"),
    path(f"{EXPERIMENT}cancel/", experiment_views.act, {"what": "cancel"}, name="experiment_cancel"),
    path("scenarios/", scenario_views.index, name="scenarios"),
    path("scenarios/new/", scenario_views.new, name="scenario_new"),
    path("scenarios/import/", scenario_views.import_file, name="scenarios_import"),
    path("scenarios/export/", scenario_views.export, name="scenarios_export"),
    path("scenarios/<slug:slug>/", scenario_views.edit, name="scenario"),
    path("scenarios/<slug:slug>/copy/", scenario_views.copy, name="scenario_copy"),
    path("<uuid:conversation_id>/", views.detail, name="detail"),
    path("<uuid:conversation_id>/analyses/", views.analyses, name="analyses"),
    path("<uuid:conversation_id>/measures/", views.measures, name="measures"),
    path("<uuid:conversation_id>/delete/", views.delete, name="delete"),
]
