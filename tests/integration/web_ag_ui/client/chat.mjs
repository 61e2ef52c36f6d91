// A chat with the protocol's own client: runs a mission, loses the connection, decides on its cards.
import { HttpAgent, buildResumeArray } from "@ag-ui/client";

const [url, goal] = process.argv.slice(2);
const agent = new HttpAgent({ url, threadId: crypto.randomUUID() });
const seen = [];
const report = { refused: [], interrupts: [], calls: [], results: [], text: "" };
const subscriber = {
  onEvent: ({ event }) => {
    seen.push(event.type);
    if (event.type === "TOOL_CALL_START") report.calls.push(event.toolCallId);
    if (event.type === "TOOL_CALL_RESULT") report.results.push(event.toolCallId);
    if (event.type === "CUSTOM") report.refused.push(event.value.interruptId);
    if (event.type === "TEXT_MESSAGE_CONTENT") report.text += event.delta;
  },
};

const answers = (interrupts, payload) =>
  buildResumeArray(
    interrupts,
    Object.fromEntries(
      interrupts.map((one) => [one.id, { status: "resolved", payload: payload(one) }]),
    ),
  );

agent.addMessage({ id: "message-1", role: "user", content: goal });

// The connection is lost as soon as the run has begun: the mission goes on, and is found again.
const leaving = { onStateSnapshotEvent: () => agent.abortRun() };
await agent.runAgent({}, leaving).catch(() => undefined);
agent.abortController = new AbortController();

await agent.runAgent({}, subscriber);
report.first = agent.pendingInterrupts.map((one) => one.id);
report.missionId = agent.state.missionId;

// A wrong digest decides nothing: the same cards are asked about again.
const wrong = { decision: "approve", digest: "0".repeat(64) };
await agent.runAgent({ resume: answers(agent.pendingInterrupts, () => wrong) }, subscriber);
report.second = agent.pendingInterrupts.map((one) => one.id);

while (agent.pendingInterrupts.length > 0) {
  report.interrupts.push(...agent.pendingInterrupts.map((one) => one.id));
  const approve = (one) => ({ decision: "approve", digest: one.metadata.digest });
  await agent.runAgent({ resume: answers(agent.pendingInterrupts, approve) }, subscriber);
}
report.state = agent.state;
report.types = [...new Set(seen)];
report.messages = agent.messages.map((one) => one.role);
process.stdout.write(JSON.stringify(report));
