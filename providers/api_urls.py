from django.urls import path

from providers import api

urlpatterns = [path("models/", api.ModelsView.as_view(), name="api_models")]
