import asyncio, json, sys
sys.path.insert(0, sys.argv[1] + "/python")
from pawl_tools import replayed

@replayed
def find_parcel(tracking_number: str, verbose: bool = False):
    raise SystemExit("the body ran")

@replayed
async def list_parcels():
    raise SystemExit("the body ran")

@replayed
def broken(x):
    raise SystemExit("the body ran")

said = {"sync": find_parcel("PX-1"), "async": asyncio.run(list_parcels())}
try:
    broken(1)
except RuntimeError as e:
    said["error"] = str(e)
print(json.dumps(said))
