/* Calls to /api/v1/ in the reader's own name. What went wrong comes as an Error whose message can be shown. */

export class ApiError extends Error {
  constructor(message, { code = "", fields = {} } = {}) {
    super(message);
    this.code = code;
    this.fields = fields;
  }
}

/** What is there, or null where it cannot be had; for what the page can do without. */
export async function get(path) {
  const answer = await fetch(`/api/v1/${path}`).catch(() => null);
  return answer?.ok ? answer.json() : null;
}

export async function post(path, body = null, key = "") {
  const headers = {
    "Content-Type": "application/json",
    "X-CSRFToken": document.querySelector('meta[name="csrf-token"]')?.content ?? "",
  };
  if (key) headers["Idempotency-Key"] = key;
  let answer;
  try {
    answer = await fetch(`/api/v1/${path}`, { method: "POST", headers, body: body && JSON.stringify(body) });
  } catch {
    throw new ApiError("The server cannot be reached. Your text is still here; try again in a moment.", { code: "offline" });
  }
  const data = await answer.json().catch(() => null);
  if (answer.ok) return data;
  const error = data?.error ?? {};
  const fields = Object.values(error.fields ?? {}).flat().join(" ");
  throw new ApiError(fields || error.message || "Something broke on our side. Your text is still here; try again.", error);
}
