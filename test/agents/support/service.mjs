// The support agent as a service: POST / takes the conversation and goes on with the caller's trace.
import { createServer } from 'node:http'
import { context, propagation, trace } from '@opentelemetry/api'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { answer } from './support.mjs'

new NodeSDK({ serviceName: 'support' }).start()
const { BUG, WRONG } = process.env
createServer(async (req, res) => {
  let text = ''
  for await (const chunk of req) text += chunk
  const input = JSON.parse(text)
  const caller = WRONG === 'no traceparent' ? context.active() : propagation.extract(context.active(), req.headers)
  const reply = (status, body) => res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  if (WRONG === 'answers 500') return reply(500, { error: 'no database' })
  await context.with(caller, () => trace.getTracer('service').startActiveSpan('POST /', async span => {
    try {
      reply(200, { text: await answer(input.messages, { bug: BUG, toolsURL: input.tools_url, session: input.session }) })
    } catch (e) { reply(500, { error: String(e) }) } finally { span.end() }
  }))
}).listen(Number(process.env.PORT ?? 0), '127.0.0.1', function () { console.log(`http://127.0.0.1:${this.address().port}`) })
