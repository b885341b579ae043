from django.urls import path

from conversations import api, scenario_api
from conversations.comparing import api as comparing_api
from conversations.experiments import analyse_api
from conversations.experiments import api as experiments_api
from conversations.files import api as files_api

EXPERIMENT = "experiments/<uuid:experiment_id>/"
PAIR = "conversations/pairs/<uuid:pair_id>/"
CONVERSATION = "conversations/<uuid:conversation_id>/"

urlpatterns = [
    path("conversations/", api.ConversationsView.as_view(), name="api_conversations"),
    path("conversations/import/", files_api.ImportView.as_view(), name="api_conversations_import"),
    path("conversations/pairs/", comparing_api.PairsView.as_view(), name="api_conversation_pairs"),
    path(PAIR, comparing_api.PairView.as_view(), name="api_conversation_pair"),
    path(f"{PAIR}preference/", comparing_api.PairPreferenceView.as_view(), name="api_conversation_pair_preference"),
    path(
        f"{PAIR}preference/withdraw/",
        comparing_api.PairWithdrawView.as_view(),
        name="api_conversation_pair_withdraw",
    ),
    path(CONVERSATION, api.ConversationView.as_view(), name="api_conversation"),
    path(f"{CONVERSATION}export/", files_api.ExportView.as_view(), name="api_conversation_export"),
    path(f"{CONVERSATION}measures/", api.MeasuresView.as_view(), name="api_conversation_measures"),
    path(f"{CONVERSATION}turn/", api.NextTurnView.as_view(), name="api_conversation_turn"),
    path(f"{CONVERSATION}run/", api.RunView.as_view(), name="api_conversation_run"),
    path(f"{CONVERSATION}step/", api.StepView.as_view(), name="api_conversation_step"),
    path(f"{CONVERSATION}pause/", api.PauseView.as_view(), name="api_conversation_pause"),
    path(f"{CONVERSATION}stop/", api.StopView.as_view(), name="api_conversation_stop"),
    path(f"{CONVERSATION}retry/", api.RetryView.as_view(), name="api_conversation_retry"),
    path(f"{CONVERSATION}extend/", api.ExtendView.as_view(), name="api_conversation_extend"),
    path(f"{CONVERSATION}inject/", api.InjectView.as_view(), name="api_conversation_inject"),
    path(f"{CONVERSATION}branch/", api.BranchView.as_view(), name="api_conversation_branch"),
    path(f"{CONVERSATION}analysis/", api.AnalysisView.as_view(), name="api_conversation_analysis"),
    path(
        f"{CONVERSATION}analysis/<uuid:analysis_id>/retry/",
        api.AnalysisRetryView.as_view(),
        name="api_conversation_analysis_retry",
    ),
    path("scenarios/", scenario_api.ScenariosView.as_view(), name="api_scenarios"),
    path("scenarios/<slug:slug>/", scenario_api.ScenarioView.as_view(), name="api_scenario"),
    path("scenarios/<slug:slug>/copy/", scenario_api.ScenarioCopyView.as_view(), name="api_scenario_copy"),
    path("experiments/", experiments_api.ExperimentsView.as_view(), name="api_experiments"),
    path("experiments/compare/", analyse_api.ExperimentsBesideView.as_view(), name="api_experiments_compare"),
    path(EXPERIMENT, experiments_api.ExperimentView.as_view(), name="api_experiment"),
    path(f"{EXPERIMENT}cancel/", experiments_api.ExperimentCancelView.as_view(), name="api_experiment_cancel"),
    path(f"{EXPERIMENT}retry/", experiments_api.ExperimentRetryView.as_view(), name="api_experiment_retry"),
    path(f"{EXPERIMENT}figures/", analyse_api.ExperimentFiguresView.as_view(), name="api_experiment_figures"),
    path(f"{EXPERIMENT}sharing/", experiments_api.ExperimentSharingView.as_view(), name="api_experiment_sharing"),
    path(f"{EXPERIMENT}votes/", experiments_api.ExperimentVotesView.as_view(), name="api_experiment_votes"),
    path(f"{EXPERIMENT}export/", experiments_api.ExperimentExportView.as_view(), name="api_experiment_export"),
]
