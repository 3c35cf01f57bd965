// A Probot app that verifies a webhook's signature, stores nothing and does nothing.
//
// It is served by Probot's own Node middleware, which is its leanest way: `probot run` writes a line for every request.
import { createServer } from "node:http";

const { createNodeMiddleware, createProbot } = await import(`${process.env.PROBOT}/lib/index.js`);

const app = (probot) => {
  probot.on("pull_request", async () => {});
};
const middleware = await createNodeMiddleware(app, { probot: createProbot() });
const server = createServer((request, response) => {
  middleware(request, response, () => response.writeHead(404).end());
});
server.listen(0, "127.0.0.1", () => console.log(`listening on 127.0.0.1:${server.address().port}`));
