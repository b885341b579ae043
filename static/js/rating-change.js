/* After a vote the ratings are computed anew in the background; this looks for them a few times. */
import { get } from "./api.js";

const LOOK_AFTER_MS = [4_000, 4_000, 8_000];

/** Call `onSides(sides)` once the battle's sides have their new ratings. */
export async function ratingChange(battleId, onSides) {
  for (const wait of LOOK_AFTER_MS) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    const sides = (await get(`battles/${battleId}/`))?.sides;
    if (sides?.every((side) => side.model?.rating !== null)) onSides(sides);
    if (sides?.some((side) => side.model?.rating_change !== null)) return;
  }
}
