// The SDKs of the protocol's authors run a mission: node missions.mjs sdk|client URL GOAL
// They print a line of JSON for each link that the person is to open, and one for the end.

const [which, url, goal] = process.argv.slice(2);
const packages = {
  sdk: "@modelcontextprotocol/sdk/client/index.js",
  client: "@modelcontextprotocol/client",
};
const { Client, ...rest } = await import(packages[which]);
const { StreamableHTTPClientTransport } =
  which === "sdk" ? await import("@modelcontextprotocol/sdk/client/streamableHttp.js") : rest;

const capabilities = { elicitation: { form: {}, url: {} } };
const client = new Client({ name: "missions", version: "1" }, { capabilities });
const opened = async (request) => {
  console.log(JSON.stringify({ open: request.params.url }));
  return { action: "accept" };
};
if (which === "sdk") {
  const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  client.setRequestHandler(ElicitRequestSchema, opened);
} else {
  client.setRequestHandler("elicitation/create", opened);
}
await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
const { tools } = await client.listTools();
const result = await client.callTool({ name: "start_mission", arguments: { goal, wait_s: 50 } });
const page = await client.readResource({ uri: `mission://${result.structuredContent.mission_id}` });
console.log(
  JSON.stringify({
    tools: tools.length,
    status: result.structuredContent.status,
    mission: result.structuredContent.mission_id,
    page: page.contents[0].text,
  }),
);
await client.close();
