from django.urls import path

from evaluations import result_api, run_api
from evaluations.questions import api as question_api
from evaluations.talks import api

EXPERIMENT = "experiments/<uuid:experiment_id>/"
# Its id or its name; the addresses above it in the list come first.
RUN = "evaluations/<slug:run_id>/"

urlpatterns = [
    path(f"{EXPERIMENT}judging/", api.JudgingView.as_view(), name="api_experiment_judging"),
    path(
        "conversations/<uuid:conversation_id>/judging/",
        api.ConversationJudgingView.as_view(),
        name="api_conversation_judging",
    ),
    path(f"{EXPERIMENT}judgments/", api.JudgmentsView.as_view(), name="api_experiment_judgments"),
    path("evaluations/", run_api.RunsView.as_view(), name="api_evaluations"),
    path("evaluations/compare/", result_api.CompareView.as_view(), name="api_evaluations_compare"),
    path("evaluations/votes/", question_api.VoteSetsView.as_view(), name="api_vote_sets"),
    path("evaluations/votes/<uuid:vote_set_id>/", question_api.VoteSetView.as_view(), name="api_vote_set"),
    path(RUN, run_api.RunView.as_view(), name="api_evaluation"),
    path(f"{RUN}cancel/", run_api.RunCancelView.as_view(), name="api_evaluation_cancel"),
    path(f"{RUN}resume/", run_api.RunResumeView.as_view(), name="api_evaluation_resume"),
    path(f"{RUN}retry/", run_api.RunRetryView.as_view(), name="api_evaluation_retry"),
    path(f"{RUN}extend/", run_api.RunExtendView.as_view(), name="api_evaluation_extend"),
    path(f"{RUN}results/", result_api.ResultsView.as_view(), name="api_evaluation_results"),
    path(f"{RUN}agreement/", result_api.RunAgreementView.as_view(), name="api_evaluation_agreement"),
    path(f"{RUN}answers/", result_api.RunAnswersView.as_view(), name="api_evaluation_answers"),
    path(f"{RUN}judgments/", result_api.RunJudgmentsView.as_view(), name="api_evaluation_judgments"),
    path(f"{RUN}export/", result_api.RunExportView.as_view(), name="api_evaluation_export"),
    path("question-sets/", question_api.QuestionSetsView.as_view(), name="api_question_sets"),
    path("question-sets/<slug:slug>/", question_api.QuestionSetView.as_view(), name="api_question_set"),
]
