"""The catalogue for programs."""

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.generics import ListAPIView

from providers.models import LanguageModel
from providers.selectors import models_listed
from providers.serializers import LanguageModelOut


@extend_schema_view(get=extend_schema(operation_id="models_list"))
class ModelsView(ListAPIView[LanguageModel]):
    """The models that may be asked."""

    required_scopes = "read"
    serializer_class = LanguageModelOut
    queryset = models_listed()
