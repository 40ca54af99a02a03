import * as ai from 'ai'
import * as mocks from 'ai/test'
import { z } from 'zod'
const { replayed } = await import(process.argv[2] + '/vercel/pawl-tools.mjs')

const body = async () => { console.log('the body ran'); process.exit(1) }
const tools = replayed({
  find_parcel: ai.tool({ description: 'finds', inputSchema: z.object({ tracking_number: z.string() }), execute: body }),
  list_parcels: ai.tool({ description: 'lists', inputSchema: z.object({}), execute: body }),
  broken: ai.tool({ description: 'fails', inputSchema: z.object({ x: z.number() }), execute: body })
})
const Model = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3 ?? mocks.MockLanguageModelV2
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
let turn = 0
const model = new Model({
  doGenerate: async ({ prompt }) => turn++ === 0
    ? { finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage, warnings: [], content: [['find_parcel', { tracking_number: 'PX-1' }], ['list_parcels', {}], ['broken', { x: 1 }]].map(([toolName, input], i) => ({ type: 'tool-call', toolCallId: 'c' + i, toolName, input: JSON.stringify(input) })) }
    : { finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [], content: [{ type: 'text', text: JSON.stringify(prompt) }] }
})
const { text } = await ai.generateText({ model, tools, prompt: 'where?', stopWhen: (ai.isStepCount ?? ai.stepCountIs)(3) })
const results = JSON.parse(text).filter(m => m.role === 'tool').flatMap(m => m.content)
const of = name => results.find(r => r.toolName === name).output
console.log(JSON.stringify({ sync: of('find_parcel').value, async: of('list_parcels').value, error: of('broken').value }))
