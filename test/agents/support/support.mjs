// A support agent on the Vercel AI SDK, with tools of its own or those of an MCP server. BUG names what is wrong with it: skipped_step, hallucinated_tool, loop or fabricated_success. Each bug is one
// that people make: a rule that fell out of the prompt, or a prompt that tells of a tool which was taken away.
import { generateText, stepCountIs, tool, dynamicTool, jsonSchema } from 'ai'
import { createOpenAI } from '@ai-sdk/openai'
import { z } from 'zod'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const rules = {
  skipped_step: 'Before a refund, look the order up.',
  fabricated_success: 'When a tool fails, say so.',
  loop: 'Only track a parcel once.'
}

export function prompt (bug) {
  const stale = bug === 'hallucinated_tool' ? ' To cancel, call cancel_order.' : ''
  return 'You are the support agent of a shop. ' + Object.entries(rules).filter(([k]) => k !== bug).map(([, rule]) => rule).join(' ') + stale
}

// replayed answers for a tool by the recording where pawl runs the agent.
const replayed = (name, body, toolsURL) => !toolsURL ? body : async args => {
  const res = await fetch(toolsURL, { method: 'POST', body: JSON.stringify({ tool: name, arguments: args }) })
  const answer = await res.json()
  if (!res.ok) throw new Error(answer.error)
  return answer.result
}

const live = name => async args => {
  const res = await fetch(`${process.env.WORLD}/shop/${name}`, { method: 'POST', body: JSON.stringify(args) })
  const answer = await res.json()
  if (!res.ok) throw new Error(`${res.status} ${answer.error}`)
  return answer
}

function shopTools (toolsURL) {
  const order = z.object({ order_id: z.string() })
  const define = (name, description, inputSchema) => [name, tool({ description, inputSchema, execute: replayed(name, live(name), toolsURL) })]
  return Object.fromEntries([
    define('get_order', 'look an order up', order),
    define('refund_order', 'refund an order', order),
    define('track_parcel', 'where a parcel is', z.object({ parcel_id: z.string() }))
  ])
}

// mcpTools are those of an MCP server, by the official client. With COMMAND the server is started by it; the client passes on few variables that it is not given.
async function mcpTools (url) {
  const client = new Client({ name: 'support', version: '1' })
  const [command, ...args] = (process.env.COMMAND ?? '').split(' ')
  await client.connect(command ? new StdioClientTransport({ command, args, env: { PAWL_MCP_URL: url } }) : new StreamableHTTPClientTransport(new URL(url)))
  const { tools } = await client.listTools()
  return [client, Object.fromEntries(tools.map(t => [t.name, dynamicTool({
    description: t.description ?? t.name,
    inputSchema: jsonSchema(t.inputSchema),
    execute: async args => {
      const result = await client.callTool({ name: t.name, arguments: args })
      if (result.isError) throw new Error(result.content.map(c => c.text).join(' '))
      return result.structuredContent ?? result.content
    }
  })]))]
}

// answer is the agent's answer to the conversation so far.
export async function answer (messages, { bug, toolsURL, mcpURL, session, content = true }) {
  const [client, tools] = mcpURL ? await mcpTools(mcpURL) : [null, shopTools(toolsURL)]
  try {
    const { text } = await generateText({
      model: createOpenAI({ baseURL: process.env.WORLD + '/v1', apiKey: 'none' }).chat('gpt-4.1'),
      system: prompt(bug),
      messages,
      tools,
      stopWhen: stepCountIs(8),
      experimental_telemetry: { isEnabled: true, functionId: 'support', recordInputs: content, recordOutputs: content, metadata: session ? { sessionId: session } : {} }
    })
    return text
  } finally { await client?.close() }
}
