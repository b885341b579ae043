"""What the services and the authentication of accounts refuse."""

from common.errors import Conflict, NotAllowed, NotFound, TourneyError


class KeyNotFound(NotFound):
    message = "There is no such key among yours."


class ScopeMissing(NotAllowed):
    """The key, or the person, may not do this."""


class ScopeNotGrantable(TourneyError):
    code = "invalid"
    message = "A key needs at least one scope, and only staff may give the scope “admin”."


class LinkExpired(TourneyError):
    code = "link_expired"
    status = 410
    message = "This log-in link has been used, or is older than a day. Ask for a new one."


class KeyReused(Conflict):
    code = "idempotency_key_reused"
    message = "This Idempotency-Key was used for another request. Use a new one for each request."


class StillUnderWay(Conflict):
    code = "idempotency_in_progress"
    message = "The first request with this Idempotency-Key is still under way. Try again in a moment."


class NotConfirmed(TourneyError):
    code = "not_confirmed"
    message = "Type your user name as it is, to confirm."


class LastAdministrator(Conflict):
    code = "last_administrator"
    message = "You are the only administrator. Make another one first."


class AuditIsFinal(NotAllowed):
    message = "The audit log is only ever added to."


class ReasonMissing(TourneyError):
    code = "reason_missing"
    message = "Please say why; the reason is kept in the audit log."


class ProofMissing(TourneyError):
    code = "proof_missing"
    message = "This needs a moment of your browser's work first. Load the page again, with JavaScript on."


class ProofInvalid(TourneyError):
    code = "proof_invalid"
    message = "Your browser's work was for something else, too old or used already. Please try once more."


class JobNotFound(NotFound):
    message = "There is no such job among yours."


class JobOver(Conflict):
    code = "job_over"
    message = "This job has ended already."
