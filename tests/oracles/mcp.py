"""The official Python client of the Model Context Protocol, as an agent's harness would have it.

    mcp.py FOLDER < {"command": …, "args": […], "cwd": …, "env": {…}, "modes": […], "calls": [[TOOL, {…}], …]}

FOLDER has the package. Without an `env` the server gets this one's. Each mode is a server of its own: the tools are listed, then called in turn. What the client made of it is
printed as one object; the client holds every result against the tool's outputSchema itself, and raises where it differs.
"""

import asyncio
import json
import os
import sys

sys.path.insert(0, sys.argv[1])

from mcp import Client, StdioServerParameters  # noqa: E402


async def talk(asked, mode):
    env = asked.get("env", dict(os.environ))
    server = StdioServerParameters(command=asked["command"], args=asked["args"], cwd=asked["cwd"], env=env)
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        results = []
        for tool, arguments in asked["calls"]:
            result = await client.call_tool(tool, arguments)
            results.append({
                "error": bool(result.is_error),
                "text": result.content[0].text,
                "object": result.structured_content,
            })
        return {
            "version": client.session.protocol_version,
            "server": [client.session.server_info.name, client.session.server_info.version],
            "instructions": client.session.instructions,
            "tools": [tool.name for tool in listed.tools],
            "results": results,
        }


async def main():
    asked = json.load(sys.stdin)
    print(json.dumps({mode: await talk(asked, mode) for mode in asked["modes"]}))


asyncio.run(main())
