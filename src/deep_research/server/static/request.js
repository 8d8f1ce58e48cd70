// Requests to this server: JSON in and out; an error is a `Problem` with what the server said about it.

export class Problem extends Error {
  constructor(status, details) {
    super(details.detail || details.title || `HTTP ${status}`);
    this.status = status;
    this.errors = details.errors || [];
  }
}

/** Ask the server; `body` is sent as JSON, or as it is where it is a form. Returns JSON, null for an empty answer. */
export async function ask(method, address, body) {
  const isForm = body instanceof FormData;
  const headers = { accept: "application/json" };
  if (body !== undefined && !isForm) headers["content-type"] = "application/json";
  const response = await fetch(address, {
    method,
    headers,
    body: body === undefined || isForm ? body : JSON.stringify(body),
  });
  await refuse(response);
  return response.status === 204 ? null : response.json();
}

/** Throw a `Problem` for a response that is an error. */
export async function refuse(response) {
  if (response.ok) return;
  let details = {};
  try {
    details = await response.json();
  } catch {
    // An error of something in between has no details.
  }
  throw new Problem(response.status, details);
}
