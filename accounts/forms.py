"""The forms of the account page."""

from datetime import timedelta
from typing import Any

from allauth.account.forms import SignupForm
from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import proofs
from accounts.models import ApiKey, Scope, User
from common.errors import TourneyError


class SignUpForm(SignupForm):  # type: ignore[misc] # allauth has no types
    """allauth's, and the proof of work where one is wanted."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "email" in self.fields:
            self.fields["email"].label = _("Email")  # the template says whether it is optional
        if address := proofs.proof_address(proofs.SIGN_UP):
            # Never shown again with what was sent: a proof is good once.
            shown = forms.HiddenInput(attrs={"data-proof": address})
            shown.format_value = lambda value: ""  # type: ignore[method-assign]
            self.fields["proof"] = forms.CharField(widget=shown, required=False)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean()
        # Last, and only for a form that is right otherwise, so that a slip of the pen costs no second proof.
        if proofs.is_asked(proofs.SIGN_UP) and not self.errors:
            try:
                proofs.proof_check(purpose=proofs.SIGN_UP, who="", proof=data.pop("proof", ""))
            except TourneyError as error:
                self.add_error(None, str(error))
        return data


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
