"""Where analyses and live generations meet."""

from uuid import UUID

from common.database import in_database_thread
from conversations import services
from conversations.analyses import AnalysisRequest
from conversations.notices import viewers_tell
from providers import live
from providers.adapters.base import ErrorKind, Message, ProviderError, Target
from providers.live import GenerationRecord


async def launch(request: AnalysisRequest) -> None:
    """Start writing the analysis in this process; returns at once."""
    conversation_id = request.analysis.conversation_id
    plain: list[Target] = [request.plain] if request.plain != request.target else []

    async def save(analysis_id: UUID, record: GenerationRecord) -> None:
        await in_database_thread(services.analysis_save)(analysis_id=analysis_id, record=record)
        if record.finished_at is not None:
            await viewers_tell(conversation_id)

    async def instead(analysis_id: UUID, error: ProviderError) -> tuple[Target, tuple[Message, ...]] | None:
        """Once more without the schema, where that is what was refused."""
        return (plain.pop(), request.messages) if plain and error.kind is ErrorKind.BAD_REQUEST else None

    live.start(request.analysis.id, request.target, request.messages, save, instead=instead)
    await viewers_tell(conversation_id)
