/* The page of a conversation: the state that came with it, the frames that change it, and what the reader does. */
import { Analyses } from "./analyses.js";
import { ApiError, post } from "./api.js";
import { Bubbles } from "./bubbles.js";
import { applied } from "./conversation-state.js";
import { copy, said } from "./copy.js";
import { fill } from "./figures.js";
import { Measures } from "./measures.js";
import { Player } from "./player.js";
import { Socket } from "./socket.js";

const NEAR_END_PX = 80;
const END_PX = 16;

const $ = (id) => document.getElementById(id);
const root = $("conversation");
const words = Object.fromEntries(
  Object.entries(root.dataset).filter(([key]) => key.startsWith("words")).map(([key, value]) => [key.slice(5).toLowerCase(), value]),
);
let state = JSON.parse($("conversation-state").textContent);

const bubbles = new Bubbles($("bubbles"), $("bubble-template"), words);
const analyses = new Analyses($("analyse"), $("analyses"), $("analysis-template"), { id: state.id, words, onAct: take });
const measures = new Measures($("measures"));
const player = new Player($("player"), { id: state.id, words, onAct: take });

/** How much of what was said lies below what can be seen, in pixels: the player covers the end of the page. */
const hidden = () => $("bubbles").getBoundingClientRect().bottom - Math.min(player.element.getBoundingClientRect().top, innerHeight);

function render() {
  bubbles.render(state);
  analyses.render(state);
  player.render(state);
  measures.render(state);
  $("no-turns").hidden = state.turns.length > 0;
}

/** The server's answer to what the reader did; what is being written comes by the socket, which knows it better. */
function take(answer) {
  state.progress = answer.progress;
  player.render(state);
}

function show(frame) {
  const written = state.turns.find((turn) => turn.id === frame.id);
  const follows = frame.type !== "snapshot" && hidden() < NEAR_END_PX; // whoever reads the end is kept there
  if (["delta", "block", "reasoning", "queued"].includes(frame.type) && written) bubbles.turn(state, written);
  else render();
  if (follows && hidden() > 0) scrollBy({ top: hidden() + END_PX });
  if (written && (frame.type === "finished" || frame.type === "failed")) {
    const { name } = state.agents.find((agent) => agent.side === frame.side);
    $("announce").textContent = fill(frame.type === "failed" ? words.failed : words.spoke, { number: written.number, name });
  }
}

new Socket(`/ws/conversations/${state.id}/`, {
  onFrame(frame) {
    if (frame.type === "pong" || frame.type === "refused") return;
    state = applied(state, frame);
    show(frame);
  },
  onState(is) {
    $("connection").hidden = is === "open";
    if (is === "refused") location.reload();
  },
});

$("bubbles").addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-do]");
  if (!button) return;
  const turn = state.turns.find((one) => one.id === button.closest("[data-turn]").dataset.turn);
  if (button.dataset.do === "copy") {
    await copy(turn.text);
    return said(button, words.copied);
  }
  try {
    const branch = await post(`conversations/${state.id}/branch/`, { position: turn.position });
    location.assign(`/conversations/${branch.id}/`);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    player.error(error.message);
  }
});

render();
// The turns come from here, so that a link to one of them has to be followed once they are there.
if (location.hash.startsWith("#turn-")) document.getElementById(location.hash.slice(1))?.scrollIntoView();
