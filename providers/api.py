"""The catalogue for programs."""

from drf_spectacular.utils import extend_schema
from rest_framework.generics import ListAPIView

from accounts.models import Scope
from providers.models import LanguageModel
from providers.selectors import models_listed
from providers.serializers import LanguageModelOut


@extend_schema(operation_id="models_list")
class ModelsView(ListAPIView[LanguageModel]):
    """The models that may be asked."""

    required_scopes = Scope.READ
    serializer_class = LanguageModelOut
    queryset = models_listed()
