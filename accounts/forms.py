"""The forms of the account page."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiKey, Scope, User


class SharingForm(forms.ModelForm):  # type: ignore[type-arg] # Django cannot subscript it at run time
    class Meta:
        model = User
        fields = ["shares_data"]


class ApiKeyForm(forms.Form):
    """A new key: its name, what it may do, and for how long."""

    name = forms.CharField(
        label=_("Name"),
        max_length=ApiKey._meta.get_field("name").max_length,
        help_text=_("What will use it, for example “notebook”."),
    )
    scopes = forms.MultipleChoiceField(
        label=_("It may"), widget=forms.CheckboxSelectMultiple, initial=[Scope.READ, Scope.RUN, Scope.VOTE]
    )
    days = forms.TypedChoiceField(
        label=_("It works"),
        coerce=int,
        empty_value=None,
        required=False,
        choices=[("", _("until revoked")), (30, _("for 30 days")), (365, _("for a year"))],
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = [choice for choice in Scope.choices if choice[0] != Scope.ADMIN or user.is_staff]
        self.fields["scopes"].choices = offered  # type: ignore[attr-defined]

    def values(self) -> dict[str, Any]:
        """What `services.apikey_issue` wants to know."""
        days = self.cleaned_data["days"]
        return {
            "name": self.cleaned_data["name"],
            "scopes": self.cleaned_data["scopes"],
            "expires_at": timezone.now() + timedelta(days=days) if days else None,
        }
