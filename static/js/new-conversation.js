/* The form of a new conversation: makes it, lets it begin, and goes there. */
import { ApiError, post } from "./api.js";

const form = document.getElementById("new-conversation");
const errors = form.querySelector("[data-errors]");
const send = form.querySelector('[type="submit"]');

/** A number field, or null where it is empty. */
const number = (given, name) => (given.get(name) === "" ? null : Number(given.get(name)));

function agent(given, side) {
  const text = (name) => given.get(`${name}_${side}`);
  return { model: text("model"), temperature: number(given, `temperature_${side}`), system: text("system"), name: text("name"), persona: text("persona") };
}

function body() {
  const given = new FormData(form);
  return {
    agent_a: agent(given, "a"),
    agent_b: agent(given, "b"),
    seed_prompt: given.get("seed_prompt"),
    max_turns: number(given, "max_turns"),
    first: given.get("first"),
    stop_phrase: given.get("stop_phrase"),
    stops_on_goodbye: given.has("stops_on_goodbye"),
    stops_on_repetition: given.has("stops_on_repetition"),
    token_budget: number(given, "token_budget"),
    cost_budget: given.get("cost_budget") || null,
    seed: number(given, "seed"),
    scenario: given.get("scenario") || null,
  };
}

function say(message) {
  errors.textContent = message;
  errors.hidden = !message;
}

/** A scenario fills in what each agent is told and how it begins; all of it can be changed before the start. */
function play(scenario) {
  document.getElementById("scenario-about").textContent = scenario?.description ?? "";
  if (!scenario) return;
  form.elements.seed_prompt.value = scenario.opening;
  form.elements.first.value = scenario.first_side;
  for (const side of ["a", "b"]) {
    form.elements[`name_${side}`].value = scenario[`name_${side}`];
    form.elements[`system_${side}`].value = scenario[`system_${side}`];
  }
}

const choice = document.getElementById("scenario");
if (choice) {
  const scenarios = JSON.parse(document.getElementById("scenarios").textContent);
  const chosen = () => scenarios.find((one) => one.slug === choice.value);
  choice.addEventListener("change", () => play(chosen()));
  if (choice.value && !form.elements.seed_prompt.value) play(chosen());
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  say("");
  send.disabled = true;
  try {
    const { id } = await post("conversations/", body());
    await post(`conversations/${id}/run/`);
    location.assign(`/conversations/${id}/`);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    say(error.message);
    send.disabled = false;
  }
});

addEventListener("pageshow", () => { send.disabled = false; });
