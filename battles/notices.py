"""Tells every window on a battle, in whatever process, that its state has changed and must be read anew."""

from uuid import UUID

from channels.layers import get_channel_layer


def group_of(battle_id: UUID) -> str:
    return f"battle.{battle_id.hex}"


async def viewers_tell(battle_id: UUID, *, origin: str = "") -> None:
    """`origin` is the channel of the window that made the change and knows it already."""
    layer = get_channel_layer()
    assert layer is not None  # settings always name one
    await layer.group_send(group_of(battle_id), {"type": "battle.changed", "origin": origin})
