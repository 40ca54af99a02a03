"""Under pawl check, tools of the OpenAI Agents SDK answer from the recording in place of their own body.

    agent = Agent(name="desk", tools=replayed([find_parcel, list_parcels]))
"""
import asyncio
import copy
import json
import os
import urllib.error
import urllib.request


def ask(tool, arguments):
    """The recorded answer of a tool; a recorded failure raises RuntimeError with its words."""
    body = json.dumps({"tool": tool, "arguments": arguments}, default=str).encode()
    request = urllib.request.Request(os.environ["PAWL_TOOLS_URL"], body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["result"]
    except urllib.error.HTTPError as failed:
        error = json.load(failed)["error"]
        raise RuntimeError(error if isinstance(error, str) else json.dumps(error)) from None


def replayed(tools):
    """Function tools with their body replaced while PAWL_TOOLS_URL is set; hosted tools stay as they are."""
    if not os.environ.get("PAWL_TOOLS_URL"):
        return tools
    return [_replayed(t) if hasattr(t, "on_invoke_tool") else t for t in tools]


def _replayed(tool):
    async def invoke(_context, arguments):
        try:
            return await asyncio.to_thread(ask, tool.name, json.loads(arguments or "{}"))
        except RuntimeError as failed:  # as the SDK's own default tells the model of a failure
            return f"An error occurred while running the tool. Please try again. Error: {failed}"

    tool = copy.copy(tool)
    tool.on_invoke_tool = invoke
    return tool
