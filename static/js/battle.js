/* The page of a battle: the state that came with it, the frames that change it, and what the reader does. */
import { applied, isBusy, isLive, lastTurn, responseOf } from "./battle-state.js";
import { copy, said } from "./copy.js";
import { fill } from "./figures.js";
import { PromptBox } from "./prompt-box.js";
import { ratingChange } from "./rating-change.js";
import { Socket } from "./socket.js";
import { Turns } from "./turns.js";
import { View } from "./view.js";
import { RankVote } from "./rank-vote.js";
import { Vote } from "./vote.js";

const $ = (id) => document.getElementById(id);
const root = $("battle");
const words = Object.fromEntries(
  Object.entries(root.dataset).filter(([key]) => key.startsWith("words")).map(([key, value]) => [key.slice(5).toLowerCase(), value]),
);
let state = JSON.parse($("battle-state").textContent);
let asked = ""; // the last frame sent, so that a refusal is shown where it was asked

const turns = new Turns($("turns"), $("turn-template"), words);
const isLineup = state.mode === "lineup";
const view = isLineup ? { render() {}, step() {}, isSingle: false } : new View(root, $("viewbar"), state.sides);
const ask = new PromptBox($("ask"), { draft: `follow-up-${state.id}`, send: (text, images) => send({ type: "prompt", text, images }) || ask.error(words.offline) });
const vote = new (isLineup ? RankVote : Vote)($("votebar"), $("outcome"), {
  battleId: state.id, cards: $("turns"),
  send: (given) => send({ type: "preference", ...given }),
  words,
});

function send(frame) {
  asked = frame.type;
  notice("");
  return socket.send(frame);
}

function notice(message) {
  $("notice").textContent = message;
  $("notice").hidden = !message;
}

const announce = (message) => { $("announce").textContent = message; };
const nameOf = (label) => state.sides.find((side) => side.label === label).name;

function renderBars() {
  const busy = isBusy(state);
  vote.render(state);
  view.render(state.sides, lastTurn(state)?.responses.filter(isLive).map((response) => response.side) ?? []);
  ask.form.hidden = false;
  ask.disable(busy);
  ask.tray.allow(state.takes_images);
  const label = ask.form.querySelector("label");
  label.textContent = label.dataset[state.preference ? "labelOpen" : "labelCounts"];
}

function render() {
  turns.render(state);
  renderBars();
}

/** What a frame changes on the page; the state has it already. */
function show(frame) {
  const turn = lastTurn(state);
  const response = frame.side && responseOf(state, frame.side);
  const panel = frame.side && turns.panel(turn, frame.side);
  switch (frame.type) {
    case "delta":
    case "block":
      panel.html(response.html);
      panel.tail(response.tail);
      panel.status(response, {});
      break;
    case "queued":
    case "reasoning":
      panel.reasoning(response.reasoning);
      panel.status(response, {});
      break;
    case "turn":
      render();
      ask.taken();
      turns.goTo(turn);
      announce(words.answering);
      break;
    case "finished":
    case "failed":
      render();
      announce(fill(words[frame.type === "failed" ? "failed" : "answered"], { name: nameOf(frame.side) }) + (state.can_vote ? ` ${words.vote}` : ""));
      break;
    case "revealed":
      render();
      announce($("outcome").querySelector("[data-outcome]").textContent);
      vote.focusNext();
      ratingChange(state.id, (sides) => { state = { ...state, sides }; render(); });
      break;
    default:
      vote.again();
      render();
      // The connection was lost between the prompt and its answer: it was taken all the same.
      if (frame.type === "snapshot" && asked === "prompt" && turn?.prompt === ask.text) ask.taken();
  }
}

function refused({ message }) {
  if (asked === "prompt") ask.error(message);
  else if (asked === "preference") vote.refused(message);
  else notice(message);
}

const socket = new Socket(`/ws/battles/${state.id}/`, {
  onFrame(frame) {
    if (frame.type === "pong") return;
    if (frame.type === "refused") return refused(frame);
    state = applied(state, frame);
    show(frame);
  },
  onState(is) {
    $("connection").hidden = is === "open";
    if (is === "refused") location.reload();
  },
});

$("turns").addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-do]");
  const panel = button?.closest("[data-side]");
  if (!panel) return;
  const side = panel.dataset.side;
  const response = state.turns.flatMap((turn) => turn.responses).find((one) => one.id === panel.dataset.response);
  const action = button.dataset.do;
  if (action === "copy") {
    await copy(response.text || panel.querySelector("[data-html]").innerText);
    return said(button, words.copied);
  }
  const frame = action === "like" || action === "dislike"
    ? { type: "reaction", response: response.id, value: response.reaction === action ? null : action }
    : { type: action, side };
  if (!send(frame)) notice(words.offline);
});

document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step && view.isSingle && event.target === document.body) view.step(step);
});

const jump = $("jump");
new IntersectionObserver(([entry]) => { jump.hidden = entry.isIntersecting || entry.boundingClientRect.top < 0; }, {
  rootMargin: "0px 0px -120px", // what the bar at the bottom covers
}).observe(ask.form);
jump.addEventListener("click", () => ask.form.scrollIntoView({ behavior: "smooth", block: "end" }));

render();
