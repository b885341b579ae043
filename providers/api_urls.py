from django.urls import path

from providers import api

urlpatterns = [
    path("models/", api.ModelsView.as_view(), name="api_models"),
    path("engines/", api.EnginesView.as_view(), name="api_engines"),
    path("engines/<slug:slug>/", api.EngineView.as_view(), name="api_engine"),
]
