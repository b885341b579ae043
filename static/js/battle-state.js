/* The battle as data, and what each frame changes in it. No document here. */

export const isLive = (response) => response.status === "waiting" || response.status === "streaming";
export const lastTurn = (state) => state.turns.at(-1);
export const isBusy = (state) => lastTurn(state)?.responses.some(isLive) ?? false;
export const responseOf = (state, side) => lastTurn(state)?.responses.find((response) => response.side === side);

/** Whether this turn's answers were judged, and so stay as they are. */
export const isJudged = (state, turn) => Boolean(state.preference) && !turn.is_open;

/** Returns the state after `frame`; deltas change it in place. */
export function applied(state, frame) {
  switch (frame.type) {
    case "snapshot":
    case "revealed":
      return frame.battle;
    case "turn":
      state.turns = [...state.turns.filter((turn) => turn.number !== frame.turn.number), frame.turn];
      state.can_vote = false;
      break;
    case "waiting": {
      const turn = lastTurn(state);
      turn.responses = turn.responses.map((response) => (response.side === frame.side ? frame.response : response));
      state.can_vote = false;
      break;
    }
    case "reaction":
      for (const turn of state.turns) {
        for (const response of turn.responses) {
          if (response.id === frame.response) response.reaction = frame.value;
        }
      }
      break;
    default: {
      const response = responseOf(state, frame.side);
      if (response) change(state, response, frame);
    }
  }
  return state;
}

function change(state, response, frame) {
  switch (frame.type) {
    case "queued":
      Object.assign(response, { place: frame.place, waiting: frame.message });
      break;
    case "reasoning":
      response.reasoning += frame.text;
      break;
    case "delta":
      response.status = "streaming";
      response.tail += frame.text;
      break;
    case "block":
      response.status = "streaming";
      response.html += frame.html;
      response.tail = frame.tail;
      break;
    case "finished":
      Object.assign(response, { status: frame.status, html: frame.html, text: frame.text, tail: "", metrics: frame.metrics });
      state.can_vote = frame.can_vote;
      break;
    case "failed":
      // What had arrived stays readable above the message.
      Object.assign(response, { status: "failed", kind: frame.kind, message: frame.message });
      state.can_vote = frame.can_vote;
      break;
  }
}
