/* The page before a battle: the prompt, its suggestions, mode and category; starts the battle and goes there. */
import { begin, newKey, suggest } from "./begin.js";
import { PromptBox } from "./prompt-box.js";
import { recall, remember } from "./storage.js";

const form = document.getElementById("new-battle");
const named = document.getElementById("named");
const poolOption = document.getElementById("pool-option");
const send = form.querySelector('[type="submit"]');
let key = newKey();

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
  send.setAttribute("aria-busy", "true");
  remember("battle-view", given.get("view"));
  if (await begin(box, body, key)) key = newKey();
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

suggest(form, box);
