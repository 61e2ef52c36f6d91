// Starts a mission, follows its events, decides on its cards, and prints its result.
//
//   node build/mission.js http://127.0.0.1:8600 "Book a flight from Berlin to Lisbon on 2027-01-15"

import { randomUUID } from "node:crypto";
import { EventSourceParserStream } from "eventsource-parser/stream";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Event = components["schemas"]["Event"];
type Problem = components["schemas"]["Problem"];

const [baseUrl, goal] = process.argv.slice(2);
if (!baseUrl || !goal) throw new Error("usage: mission.js URL GOAL");

const token = process.env.API_TOKEN;
const api = createClient<paths>({
  baseUrl,
  headers: token ? { Authorization: `Bearer ${token}` } : {},
});

/** Returns the content of an answer, or throws the problem that came in its place. */
function content<T>({ data, error }: { data?: T; error?: Problem }): T {
  if (data === undefined) throw new Error(`${error?.code}: ${error?.detail}`);
  return data;
}

/** Yields the events of a mission; a broken connection is continued after the last one. */
async function* follow(missionId: string): AsyncGenerator<Event> {
  let last: string | undefined;
  for (;;) {
    const { response } = await api.GET("/api/v1/missions/{mission_id}/events", {
      params: {
        path: { mission_id: missionId },
        header: last ? { "Last-Event-ID": last } : {},
      },
      headers: { Accept: "text/event-stream" },
      parseAs: "stream",
    });
    if (!response.ok || !response.body) throw new Error(`events: ${response.status}`);
    const messages = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    for await (const message of messages) {
      if (message.event === "end") return;
      if (message.event === "problem") throw new Error(message.data);
      last = message.id ?? last;
      yield JSON.parse(message.data) as Event;
    }
  }
}

/** Shows a card, and approves exactly the call that it shows. */
async function decide(cardId: string): Promise<void> {
  const path = { confirmation_id: cardId };
  const shown = await api.GET("/api/v1/cards/{confirmation_id}", { params: { path } });
  if (shown.response.status === 404) return; // somebody else has decided
  const { card, sections } = content(shown);
  console.log(`card: ${card.title}`);
  for (const line of (sections ?? []).flatMap((section) => section.lines ?? [])) {
    console.log(`  ${line.label}: ${line.value}`);
  }
  // A program for people asks here.
  const receipt = await api.POST("/api/v1/cards/{confirmation_id}/decision", {
    params: { path },
    body: { kind: "approve", digest: card.digest },
  });
  console.log(`decision: ${content(receipt).accepted}`);
}

const started = content(
  await api.POST("/api/v1/missions", {
    params: { header: { "Idempotency-Key": process.env.ORDER ?? randomUUID() } },
    body: { goal },
  }),
);
for await (const event of follow(started.mission_id)) {
  console.log(`event: ${event.kind}`);
  if (event.kind === "card" && (event.state === "opened" || event.state === "amended")) {
    await decide(event.confirmation_id);
  }
}
const { result } = content(
  await api.GET("/api/v1/missions/{mission_id}", {
    params: { path: { mission_id: started.mission_id } },
  }),
);
console.log(`result: ${result?.status}`);
for (const receipt of result?.receipts ?? []) console.log(`receipt: ${receipt.title}`);
