from django.urls import path

from evaluations import extending_views, views
from evaluations.questions import import_views as set_import_views
from evaluations.questions import views as set_views
from evaluations.reading import answer_views, compare_views, vote_views
from evaluations.reading import views as reading
from evaluations.talks import views as talk_views

app_name = "evaluations"

urlpatterns = [
    path("", views.index, name="index"),
    path("new/", views.new, name="new"),
    path("experiments/<uuid:experiment_id>/", talk_views.judging, name="judging"),
    path("conversations/<uuid:conversation_id>/", talk_views.judging, name="conversation_judging"),
    path("<uuid:run_id>/", views.detail, name="detail"),
    path("sets/", set_views.index, name="sets"),
    path("sets/<slug:slug>/", set_views.detail, name="set"),
    path("sets/<slug:slug>/delete/", set_import_views.delete, name="set_delete"),
    path("import/", set_import_views.page, name="set_import"),
    path("import/<uuid:job_id>/", set_import_views.checked, name="set_checked"),
    path("import/<uuid:job_id>/confirm/", set_import_views.confirm, name="set_import_confirm"),
    path("compare/", compare_views.compare, name="compare"),
    path("compare/chart.<slug:ending>", compare_views.compare_chart, name="compare_chart"),
    path("votes/", vote_views.votes, name="votes"),
    path("votes/battles/", vote_views.battles, name="battles"),
    path("votes/battles/<slug:name>.<slug:ending>", vote_views.battles_chart, name="battles_chart"),
    path("votes/<uuid:vote_set_id>/", vote_views.vote_set, name="vote_set"),
    path("votes/<uuid:vote_set_id>/delete/", vote_views.vote_set_delete, name="vote_set_delete"),
    path("votes/<uuid:vote_set_id>/<slug:name>.<slug:ending>", vote_views.vote_set_chart, name="vote_set_chart"),
    path("<uuid:run_id>/charts/<slug:name>.<slug:ending>", reading.chart, name="chart"),
    path("<uuid:run_id>/answers/", answer_views.answers, name="answers"),
    path("<uuid:run_id>/agreement/", reading.agreement, name="agreement"),
    path("<uuid:run_id>/agreement/<slug:name>.<slug:ending>", reading.agreement_chart, name="agreement_chart"),
    path("<uuid:run_id>/questions/<int:number>/", answer_views.question, name="question"),
    path("<uuid:run_id>/results.<slug:ending>", reading.table, name="table"),
    path("<uuid:run_id>/extend/", extending_views.extend, name="extend"),
    path("<uuid:run_id>/delete/", extending_views.delete, name="delete"),
    path("<uuid:run_id>/<slug:action>/", views.act, name="act"),
]
