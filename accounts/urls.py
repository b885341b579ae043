from django.urls import path

from accounts import views

app_name = "accounts"
urlpatterns = [
    path("", views.home, name="home"),
    path("sharing/", views.sharing, name="sharing"),
    path("keys/", views.key_make, name="key_make"),
    path("keys/<int:key_id>/revoke/", views.key_revoke, name="key_revoke"),
    path("jobs/", views.job_list, name="jobs"),
    path("jobs/<uuid:job_id>/cancel/", views.job_cancel, name="job_cancel"),
    path("proof/<slug:purpose>/", views.proof, name="proof"),
    path("link/<str:uid>/<str:token>/", views.link, name="link"),
]
