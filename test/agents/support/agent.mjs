// The support agent as a command: node agent.mjs [QUESTION]. WRONG is a mistake in how it is set up.
import { readFileSync } from 'node:fs'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { answer } from './support.mjs'

const { PAWL_INPUT, PAWL_TOOLS_URL, PAWL_MCP_URL, BUG, WRONG, TOOLS } = process.env
const input = PAWL_INPUT ? JSON.parse(readFileSync(PAWL_INPUT)) : { messages: [{ role: 'user', content: process.argv[2] }] }

if (WRONG === 'crash') throw new Error('cannot find module ./prompts.json')
if (WRONG === 'hang') await new Promise(() => setInterval(() => {}, 1000))
if (WRONG === 'print') { console.log('I cannot cancel that.'); process.exit(0) }
const options = { serviceName: 'support' }
if (WRONG === 'endpoint') options.traceExporter = new OTLPTraceExporter({ url: 'http://127.0.0.1:9/v1/traces', timeoutMillis: 500 })
const sdk = WRONG === 'no exporter' ? null : new NodeSDK(options)
sdk?.start()
try {
  console.log(await answer(input.messages, { bug: BUG, toolsURL: WRONG === 'not replayed' ? '' : PAWL_TOOLS_URL, mcpURL: TOOLS === 'mcp' && PAWL_MCP_URL,
    session: input.session, content: WRONG !== 'no content' }))
} finally {
  if (WRONG !== 'no flush') await sdk?.shutdown()
}
if (WRONG === 'no flush') process.exit(0)
if (WRONG === 'lingers') setInterval(() => {}, 1000)
