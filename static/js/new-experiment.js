/* The form of an experiment: says at once what the plan means, and starts it. */
import { ApiError, post } from "./api.js";
import { dollars, whole } from "./figures.js";

const WAIT_MS = 250;
const form = document.getElementById("new-experiment");
const figures = form.querySelector("[data-figures]");
const errors = form.querySelector("[data-errors]");
const send = form.querySelector('[type="submit"]');
let timer = 0;
let asked = 0;

const listed = form.querySelector("[data-pairs]");
const older = form.querySelector("[data-versions]");

const number = (given, name) => (given.get(name) === "" ? null : Number(given.get(name)));

/** What stands between commas; “default” and an empty field leave it to the model. The server says what is no number. */
function values(given, name) {
  const parts = given.get(name).split(",").map((part) => part.trim()).filter(Boolean);
  const read = (part) => (part === "default" ? null : Number.isNaN(Number(part)) ? part : Number(part));
  return parts.length ? parts.map(read) : [null];
}

/** The older versions that are to be played, of the scenarios that still are. */
function versions(scenarios) {
  const kept = older?.checked ? JSON.parse(older.dataset.versions) : {};
  return Object.fromEntries(Object.entries(kept).filter(([slug]) => scenarios.includes(slug)));
}

function grid() {
  const given = new FormData(form);
  const isListed = given.get("pairs") === "listed";
  return {
    name: given.get("name").trim(),
    models: isListed ? [] : given.getAll("models"),
    listed: isListed ? [...listed.children].map((row) => [...row.querySelectorAll("select")].map((side) => side.value)) : [],
    pairs: given.get("pairs"),
    self_pairs: given.has("self_pairs"),
    scenarios: given.getAll("scenarios"),
    iterations: number(given, "iterations"),
    turns: number(given, "turns"),
    temperature: values(given, "temperature"),
    top_p: values(given, "top_p"),
    max_tokens: values(given, "max_tokens"),
    seed: number(given, "seed"),
    stop_phrase: given.get("stop_phrase"),
    scenario_versions: versions(given.getAll("scenarios")),
    stops_on_goodbye: given.has("stops_on_goodbye"),
    stops_on_repetition: given.has("stops_on_repetition"),
  };
}

function duration(seconds) {
  if (seconds < 90) return `${whole(seconds)} s`;
  return seconds < 5400 ? `${whole(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

function show(estimate) {
  for (const figure of figures.querySelectorAll("[data-of]")) {
    const value = estimate?.[figure.dataset.of];
    const words = { cost: (cost) => dollars(cost), seconds: duration }[figure.dataset.of] ?? whole;
    if (!estimate) figure.textContent = "—";
    else figure.textContent = value === null ? figures.dataset.free : words(value);
  }
}

function say(message) {
  errors.textContent = message;
  errors.hidden = !message;
}

/** A chosen list of pairs takes the place of the models that all meet. */
function showPairs() {
  const isListed = form.elements.pairs.value === "listed";
  for (const part of form.querySelectorAll("[data-if-listed]")) part.hidden = !isListed;
  for (const part of form.querySelectorAll("[data-unless-listed]")) part.hidden = isListed;
  if (isListed && !listed.children.length) addPair();
}

function addPair() {
  const row = document.getElementById("pair-template").content.firstElementChild.cloneNode(true);
  const sides = row.querySelectorAll("select");
  if (sides[1].options.length > 1) sides[1].selectedIndex = 1;
  listed.append(row);
  return row;
}

async function price() {
  const mine = (asked += 1);
  const given = grid();
  try {
    const { estimate } = await post("experiments/", { ...given, name: given.name || "—", dry_run: true });
    if (mine !== asked) return;
    say("");
    show(estimate);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (mine !== asked) return;
    say(error.message);
    show(null);
  }
}

function priceSoon() {
  clearTimeout(timer);
  timer = setTimeout(price, WAIT_MS);
}

form.addEventListener("input", () => {
  showPairs();
  priceSoon();
});

form.addEventListener("click", (event) => {
  if (event.target.closest("[data-add]")) addPair().querySelector("select").focus();
  else if (event.target.closest("[data-remove]")) {
    event.target.closest("li").remove();
    form.querySelector("[data-add]").focus();
  } else return;
  priceSoon();
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  send.disabled = true;
  try {
    const { id } = await post("experiments/", grid());
    location.assign(`/conversations/experiments/${id}/`);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    say(error.message);
    send.disabled = false;
  }
});

addEventListener("pageshow", () => { send.disabled = false; });
showPairs();
price();
