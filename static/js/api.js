/* Calls to /api/v1/ in the reader's own name. What went wrong comes as an Error whose message can be shown. */

const UNREACHABLE = "The server cannot be reached. Your text is still here; try again in a moment.";
const BROKEN = "Something broke on our side. Your text is still here; try again.";

export class ApiError extends Error {
  constructor(message, { code = "", fields = {} } = {}) {
    super(message);
    this.code = code;
    this.fields = fields;
  }
}

const token = () => document.querySelector('meta[name="csrf-token"]')?.content ?? "";

function problem(data) {
  const error = data?.error ?? {};
  const fields = Object.values(error.fields ?? {}).flat().join(" ");
  return new ApiError(fields || error.message || BROKEN, error);
}

/** What is there, or null where it cannot be had; for what the page can do without. */
export async function get(path) {
  const answer = await fetch(`/api/v1/${path}`).catch(() => null);
  return answer?.ok ? answer.json() : null;
}

export async function post(path, body = null, key = "") {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": token() };
  if (key) headers["Idempotency-Key"] = key;
  let answer;
  try {
    answer = await fetch(`/api/v1/${path}`, { method: "POST", headers, body: body && JSON.stringify(body) });
  } catch {
    throw new ApiError(UNREACHABLE, { code: "offline" });
  }
  const data = await answer.json().catch(() => null);
  if (answer.ok) return data;
  throw problem(data);
}

/** Deletes what the server would clean up by itself in time, so that nobody need know whether it worked. */
export function remove(path) {
  fetch(`/api/v1/${path}`, { method: "DELETE", headers: { "X-CSRFToken": token() } }).catch(() => {});
}

/** Sends one file; `onProgress` gets the part that is sent, 0 to 1. Only this old interface tells it. */
export function upload(path, file, { onProgress, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    form.append("file", file);
    request.open("POST", `/api/v1/${path}`);
    request.responseType = "json";
    request.setRequestHeader("X-CSRFToken", token());
    request.upload.addEventListener("progress", (event) => event.lengthComputable && onProgress(event.loaded / event.total));
    request.addEventListener("load", () => (request.status < 300 ? resolve(request.response) : reject(problem(request.response))));
    for (const end of ["error", "abort"]) {
      request.addEventListener(end, () => reject(new ApiError(UNREACHABLE, { code: "offline" })));
    }
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}
