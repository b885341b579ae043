/* The page before a battle: the prompt, its suggestions, mode and category; starts the battle and goes there. */
import { ApiError, post } from "./api.js";
import { PromptBox } from "./prompt-box.js";
import { recall, remember } from "./storage.js";

const form = document.getElementById("new-battle");
const named = document.getElementById("named");
const poolOption = document.getElementById("pool-option");
const send = form.querySelector('[type="submit"]');
let key = newKey();

/** One key for one try: where the answer is lost, trying again finds the same battle. Plain http has no such source. */
function newKey() {
  return crypto.randomUUID?.() ?? "";
}

const mode = () => form.elements.mode.value;

function renderMode() {
  named.hidden = mode() !== "named";
  named.disabled = named.hidden;
  if (poolOption) poolOption.hidden = !named.hidden;
  const chosen = [...named.querySelectorAll("option:checked")];
  box.tray.allow(named.hidden || chosen.every((option) => "sees" in option.dataset));
  remember("battle-mode", mode());
}

async function start(prompt, images) {
  const given = new FormData(form);
  const body = { prompt, mode: mode(), category: given.get("category"), images };
  if (body.mode === "named") body.models = given.getAll("models");
  else body.pool = given.get("pool") ?? "";
  if (body.models && new Set(body.models).size < 2) {
    box.error(form.dataset.twoModels);
    return;
  }
  box.error("");
  box.disable(true);
  send.setAttribute("aria-busy", "true");
  remember("battle-view", given.get("view"));
  try {
    const battle = await post("battles/", body, key);
    box.taken();
    location.assign(`/battles/${battle.id}/`);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code !== "offline") key = newKey();
    box.error(error.message);
    box.disable(false);
    box.area.focus();
  }
  send.removeAttribute("aria-busy");
}

const box = new PromptBox(form, { draft: "new-battle", send: start });
box.area.addEventListener("input", () => { key = newKey(); });
box.area.focus();

form.elements.mode.value = recall("battle-mode") === "named" ? "named" : "blind";
form.elements.view.value = recall("battle-view") === "single" ? "single" : "pair";
form.addEventListener("change", () => {
  renderMode();
  key = newKey();
});
renderMode();
// Coming back by the browser's own button finds the page as it was left.
addEventListener("pageshow", () => box.disable(false));

for (const chip of document.querySelectorAll("[data-suggestion]")) {
  chip.addEventListener("click", () => {
    form.elements.category.value = chip.dataset.category;
    box.set(chip.dataset.suggestion);
  });
}
