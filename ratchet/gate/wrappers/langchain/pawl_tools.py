"""Under pawl check, tools of LangChain answer from the recording in place of their own body. Elsewhere they are left as they are.

    agent = create_agent(model, tools=replayed([find_parcel, list_parcels]))
"""
import asyncio
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
    """The tools that @tool and StructuredTool make, with their body replaced, in place, while PAWL_TOOLS_URL is set."""
    if os.environ.get("PAWL_TOOLS_URL"):
        for tool in tools:
            if hasattr(tool, "func"):
                _replay(tool)
    return tools


def _replay(tool):
    pair = getattr(tool, "response_format", "content") == "content_and_artifact"

    def body(**arguments):
        result = ask(tool.name, arguments)
        return (result, None) if pair else result

    async def later(**arguments):
        return await asyncio.to_thread(body, **arguments)

    tool.func, tool.coroutine = body, later
