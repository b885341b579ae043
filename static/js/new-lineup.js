/* The page before a line-up: who takes part, named or blind. */
import { begin, newKey, suggest } from "./begin.js";
import { fill } from "./figures.js";
import { PromptBox } from "./prompt-box.js";
import { recall, remember } from "./storage.js";

const form = document.getElementById("new-lineup");
const models = document.getElementById("models");
const count = document.getElementById("count");
const max = Number(form.dataset.lineupMax);
let key = newKey();

const isBlind = () => form.elements.names.value === "blind";
const chosen = () => new FormData(form).getAll("models");

function render() {
  models.hidden = isBlind();
  count.hidden = !isBlind();
  const chosenBoxes = [...models.querySelectorAll(":checked")];
  box.tray.allow(isBlind() || chosenBoxes.every((one) => "sees" in one.dataset));
  const note = models.querySelector("[data-chosen]");
  note.textContent = fill(note.dataset.words, { number: chosen().length });
  remember("lineup-names", form.elements.names.value);
  remember("lineup-models", JSON.stringify(chosen()));
}

function bodyOf(prompt, images) {
  const body = { prompt, images, mode: "lineup", blind: isBlind(), category: form.elements.category.value };
  return isBlind() ? { ...body, count: Number(form.elements.count.value) } : { ...body, models: chosen() };
}

async function start(prompt, images) {
  const body = bodyOf(prompt, images);
  if (body.models?.length < 2) return box.error(form.dataset.tooFew);
  if (body.models?.length > max) return box.error(fill(form.dataset.tooMany, { max }));
  if (await begin(box, body, key)) key = newKey();
}

const box = new PromptBox(form, { draft: "new-lineup", send: start });
form.addEventListener("input", () => { key = newKey(); });
form.addEventListener("change", () => {
  key = newKey();
  render();
});
addEventListener("pageshow", () => box.disable(false));

form.elements.names.value = recall("lineup-names") === "blind" ? "blind" : "named";
const before = JSON.parse(recall("lineup-models") || "[]");
const boxes = [...models.querySelectorAll("input")];
if (boxes.filter((one) => before.includes(one.value)).length >= 2) {
  for (const one of boxes) one.checked = before.includes(one.value);
}
render();
box.area.focus();

suggest(form, box);
