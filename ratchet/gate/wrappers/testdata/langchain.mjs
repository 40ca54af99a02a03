import { tool } from '@langchain/core/tools'
import { z } from 'zod'
const { replayed } = await import(process.argv[2] + '/langchain/pawl-tools.mjs')

const body = async () => { console.log('the body ran'); process.exit(1) }
const [find, list, broken] = replayed([
  tool(body, { name: 'find_parcel', description: 'finds', schema: z.object({ tracking_number: z.string() }) }),
  tool(body, { name: 'list_parcels', description: 'lists', schema: z.object({}) }),
  tool(body, { name: 'broken', description: 'fails', schema: z.object({ x: z.number() }) })
])
const call = (name, args) => ({ type: 'tool_call', id: 'c', name, args })
const said = { sync: JSON.parse((await find.invoke(call('find_parcel', { tracking_number: 'PX-1' }))).content), async: JSON.parse((await list.invoke(call('list_parcels', {}))).content) }
try { await broken.invoke({ x: 1 }) } catch (e) { said.error = e.message }
console.log(JSON.stringify(said))
