"""Tells every window on a conversation, in whatever process, that it has moved on."""

from uuid import UUID

from channels.layers import get_channel_layer


def group_of(conversation_id: UUID) -> str:
    return f"conversation.{conversation_id.hex}"


async def viewers_tell(conversation_id: UUID) -> None:
    layer = get_channel_layer()
    assert layer is not None  # settings always name one
    await layer.group_send(group_of(conversation_id), {"type": "conversation.changed"})
