// Server-sent events over fetch: can begin after a given event, tells when the connection is lost, and comes back.

import { refuse } from "./request.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10000;
// The server sends a beat at least this often; a connection that is silent for longer is dead.
const SILENCE_MS = 45000;

/**
 * Follow an event stream until it is over. `on.event({id, kind, data})` is called for each event, `on.state` with
 * "open" or "lost" whenever that changes, `on.over` once the server has nothing more to say, `on.refused` for an error
 * that trying again does not mend. Returns a function that ends it.
 */
export function follow(address, { after = 0, on }) {
  const ending = new AbortController();
  let last = after;
  let wait = FIRST_WAIT_MS;

  async function once() {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    ending.signal.addEventListener("abort", stop);
    let timer = setTimeout(stop, SILENCE_MS);
    try {
      const headers = { accept: "text/event-stream", "last-event-id": String(last) };
      const response = await fetch(address, { headers, signal: attempt.signal, cache: "no-store" });
      await refuse(response);
      if (response.status === 204) return true;
      on.state("open");
      wait = FIRST_WAIT_MS;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return false;
        clearTimeout(timer);
        timer = setTimeout(stop, SILENCE_MS);
        const frames = (rest + value).split("\n\n");
        rest = frames.pop();
        for (const frame of frames) {
          const event = parsed(frame);
          if (!event) continue;
          if (event.id) last = event.id;
          on.event(event);
        }
      }
    } finally {
      clearTimeout(timer);
      ending.signal.removeEventListener("abort", stop);
    }
  }

  (async () => {
    while (!ending.signal.aborted) {
      try {
        if (await once()) {
          on.over();
          return;
        }
      } catch (problem) {
        if (ending.signal.aborted) return;
        if (problem.status >= 400 && problem.status < 500 && problem.status !== 429) {
          on.refused(problem);
          return;
        }
        on.state("lost");
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
  })();
  return () => ending.abort();
}

function parsed(frame) {
  const event = { id: 0, kind: "message", data: null };
  const data = [];
  for (const line of frame.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") event.id = Number(value);
    else if (name === "event") event.kind = value;
    else if (name === "data") data.push(value);
  }
  if (!data.length) return null;
  event.data = JSON.parse(data.join("\n"));
  return event;
}
