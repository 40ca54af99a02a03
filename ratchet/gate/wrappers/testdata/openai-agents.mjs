import { Agent, Runner, tool, setTracingDisabled } from '@openai/agents'
import { z } from 'zod'
const { replayed } = await import(process.argv[2] + '/openai-agents/pawl-tools.mjs')

setTracingDisabled(true)
const body = async () => { console.log('the body ran'); process.exit(1) }
const tools = [
  tool(replayed({ name: 'find_parcel', description: 'finds', parameters: z.object({ tracking_number: z.string() }), execute: body })),
  tool(replayed({ name: 'list_parcels', description: 'lists', parameters: z.object({}), execute: body })),
  tool(replayed({ name: 'broken', description: 'fails', parameters: z.object({ x: z.number() }), errorFunction: (_, e) => 'failed: ' + e.message, execute: body }))
]
let turn = 0
const said = {}
const model = {
  async getResponse ({ input }) {
    for (const item of input) if (item.type === 'function_call_result') said[item.name] = typeof item.output === 'string' ? item.output : item.output.text
    const output = turn++ === 0
      ? [['find_parcel', { tracking_number: 'PX-1' }], ['list_parcels', {}], ['broken', { x: 1 }]].map(([name, args], i) => ({ type: 'function_call', callId: 'c' + i, name, arguments: JSON.stringify(args), status: 'completed' }))
      : [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }]
    return { usage: { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 }, output }
  }
}
await new Runner({ tracingDisabled: true }).run(new Agent({ name: 'desk', model, tools }), 'where?')
const value = s => { try { return JSON.parse(s) } catch { return s } }
console.log(JSON.stringify({ sync: value(said.find_parcel), async: value(said.list_parcels), error: said.broken }))
