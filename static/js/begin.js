/* What the pages before a battle and a line-up share: a key for one try, sending it, and suggestions. */
import { ApiError, post } from "./api.js";

/** One key for one try: where the answer is lost, trying again finds the same battle. Plain http has no such source. */
export function newKey() {
  return crypto.randomUUID?.() ?? "";
}

/** Start the battle and go there. True where it was refused, so that another try is another battle. */
export async function begin(box, body, key) {
  box.error("");
  box.disable(true);
  try {
    const battle = await post("battles/", body, key);
    box.taken();
    location.assign(`/battles/${battle.id}/`);
    return false;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    box.error(error.message);
    box.disable(false);
    box.area.focus();
    return error.code !== "offline";
  }
}

/** A click on a suggestion puts it into the box, with its category. */
export function suggest(form, box) {
  for (const chip of document.querySelectorAll("[data-suggestion]")) {
    chip.addEventListener("click", () => {
      form.elements.category.value = chip.dataset.category;
      box.set(chip.dataset.suggestion);
    });
  }
}
