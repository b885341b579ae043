from django.urls import path

from evaluations import views

app_name = "evaluations"

urlpatterns = [
    path("", views.index, name="index"),
    path("new/", views.new, name="new"),
    path("<uuid:run_id>/", views.detail, name="detail"),
    path("<uuid:run_id>/charts/<slug:name>.<slug:ending>", views.chart, name="chart"),
    path("<uuid:run_id>/questions/<int:number>/", views.question, name="question"),
    path("<uuid:run_id>/results.<slug:ending>", views.table, name="table"),
    path("<uuid:run_id>/<slug:action>/", views.act, name="act"),
]
