import asyncio, json, sys
sys.path.insert(0, sys.argv[1] + "/openai-agents")
from agents import function_tool
from pawl_tools import replayed

@function_tool
def find_parcel(tracking_number: str) -> dict:
    """Finds."""
    raise SystemExit("the body ran")

@function_tool
async def list_parcels() -> list:
    """Lists."""
    raise SystemExit("the body ran")

@function_tool
def broken(x: int) -> str:
    """Fails."""
    raise SystemExit("the body ran")

find, several, fails = replayed([find_parcel, list_parcels, broken])

async def main():
    return {"sync": await find.on_invoke_tool(None, '{"tracking_number": "PX-1"}'), "async": await several.on_invoke_tool(None, "{}"), "error": await fails.on_invoke_tool(None, '{"x": 1}')}

print(json.dumps(asyncio.run(main())))
