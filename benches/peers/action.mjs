// A JavaScript action that asks GitHub for one thing, written as the toolkit's documentation has it, and bundled.
import * as core from "@actions/core";
import * as github from "@actions/github";

try {
  const octokit = github.getOctokit(core.getInput("github-token", { required: true }));
  const { data } = await octokit.rest.pulls.get({
    ...github.context.repo,
    pull_number: github.context.payload.pull_request.number,
  });
  core.setOutput("title", data.title);
} catch (error) {
  core.setFailed(error.message);
}
