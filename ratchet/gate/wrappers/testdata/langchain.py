import asyncio, json, sys
sys.path.insert(0, sys.argv[1] + "/langchain")
from langchain_core.tools import tool
from pawl_tools import replayed

@tool
def find_parcel(tracking_number: str) -> dict:
    """Finds."""
    raise SystemExit("the body ran")

@tool
async def list_parcels() -> list:
    """Lists."""
    raise SystemExit("the body ran")

@tool
def broken(x: int) -> str:
    """Fails."""
    raise SystemExit("the body ran")

replayed([find_parcel, list_parcels, broken])
said = {"sync": find_parcel.invoke({"tracking_number": "PX-1"}), "async": asyncio.run(list_parcels.ainvoke({}))}
try:
    broken.invoke({"x": 1})
except RuntimeError as e:
    said["error"] = str(e)
print(json.dumps(said))
