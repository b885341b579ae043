"""A conversation as a Markdown transcript, to read and to quote."""

from conversations.analysis_texts import result_markdown
from conversations.models import Conversation, Turn
from conversations.sampling import sampling_words
from conversations.state import title_of


def markdown(conversation: Conversation) -> str:
    """The transcript, from `selectors.conversation_whole`. What was said stands as it was written."""
    agents = {agent.side: agent for agent in conversation.agents.all()}
    about = [
        f"- Agent {side.upper()}: {agent.shown_name} ({agent.model_slug}, sampling: {sampling_words(agent.sampling)})"
        for side, agent in agents.items()
    ]
    parts = [f"# {_line(title_of(conversation))}", "\n".join(about)]
    if conversation.seed_prompt:
        parts += ["## Seed prompt", _quoted(conversation.seed_prompt)]
    for side, agent in agents.items():
        if agent.system_prompt:
            parts += [f"## System prompt of agent {side.upper()}", _quoted(agent.system_prompt)]
    for turn in conversation.turns.all():
        if turn.speaker == Turn.Speaker.MODERATOR:
            parts += ["## Moderator", turn.text]
        elif not turn.is_live:
            parts += [f"## {turn.number}. {_line(agents[turn.speaker].shown_name)}"]
            parts += [turn.text or f"*No text: {turn.error_kind or turn.status}.*"]
    if conversation.reason:
        parts += [f"*{conversation.get_reason_display()}*"]
    for analysis in conversation.analyses.all():
        if not analysis.is_live:
            written = result_markdown(analysis.result) if analysis.result else analysis.text
            parts += [f"## Analysis by {analysis.model_slug}", written]
    return "\n\n".join(parts) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
