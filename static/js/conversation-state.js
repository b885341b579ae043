/* The conversation as data, and what each frame changes in it. No document here. */

export const isLive = (written) => written.status === "waiting" || written.status === "streaming";

function find(state, id) {
  return state.turns.find((turn) => turn.id === id) ?? state.analyses.find((analysis) => analysis.id === id);
}

/** Returns the state after `frame`; deltas change it in place. */
export function applied(state, frame) {
  switch (frame.type) {
    case "snapshot":
      return frame.conversation;
    case "turn":
      state.turns = [...state.turns.filter((turn) => turn.position !== frame.turn.position), frame.turn]
        .sort((one, other) => one.position - other.position);
      break;
    case "analysis":
      state.analyses = [...state.analyses.filter((one) => one.id !== frame.analysis.id), frame.analysis]
        .sort((one, other) => one.created_at.localeCompare(other.created_at));
      break;
    case "progress":
      state.progress = frame.progress;
      break;
    default: {
      const written = find(state, frame.id);
      if (written) change(written, frame);
    }
  }
  return state;
}

function change(written, frame) {
  switch (frame.type) {
    case "queued":
      written.place = frame.place;
      break;
    case "reasoning":
      written.reasoning += frame.text;
      break;
    case "delta":
      written.status = "streaming";
      written.tail += frame.text;
      break;
    case "block":
      written.status = "streaming";
      written.html += frame.html;
      written.tail = frame.tail;
      break;
    case "finished": {
      const { status, html, text, metrics, is_refusal } = frame;
      Object.assign(written, { status, html, text, tail: "", metrics, is_refusal });
      break;
    }
    case "failed":
      Object.assign(written, { status: "failed", kind: frame.kind, message: frame.message });
      break;
  }
}
