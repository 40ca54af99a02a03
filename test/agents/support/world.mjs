// The world that the support agent lives in: a scripted model that speaks OpenAI's chat completions, the shop's own API, and a store for spans.
// The model has no memory and no chance in it: it does what the system prompt tells it, or what it was not told not to do.
import { createServer } from 'node:http'
import { appendFileSync } from 'node:fs'

const traces = process.argv[2] // a file; what the agent exports is added to it, a request a line
const orders = { 'A-1001': { order_id: 'A-1001', status: 'delivered', total: 49.9 }, 'A-1002': { order_id: 'A-1002', status: 'shipped', total: 12.5 } }
const shop = {
  get_order: ({ order_id }) => orders[order_id] ? [200, orders[order_id]] : [404, { error: `no order ${order_id}` }],
  refund_order: ({ order_id }) => order_id === 'A-1002' ? [500, { error: 'payment gateway: internal error' }] : [200, { refund_id: 'R-77', order_id, status: 'refunded' }],
  track_parcel: ({ parcel_id }) => [200, { parcel_id, status: 'no scan yet' }],
  send_email: ({ to }) => [200, { sent: true, to }]
}

const call = (name, args) => ({ calls: [{ name, args }] })
const say = text => ({ text })
const textOf = m => typeof m.content === 'string' ? m.content : (m.content ?? []).map(p => p.text ?? '').join('')

// next is what the model answers to a conversation.
function next (messages) {
  const told = textOf(messages.find(m => ['system', 'developer'].includes(m.role)) ?? { content: '' })
  const from = messages.findLastIndex(m => m.role === 'user')
  const user = textOf(messages[from])
  const results = messages.slice(from + 1).filter(m => m.role === 'tool').map(textOf)
  const done = messages.slice(from + 1).flatMap(m => m.tool_calls ?? []).map(c => c.function.name)
  const order = user.match(/A-\d+/)?.[0]
  const parcel = user.match(/P-\d+/)?.[0]
  if (/refund/i.test(user)) {
    if (told.includes('look the order up') && !done.includes('get_order')) return call('get_order', { order_id: order })
    if (!done.includes('refund_order')) return call('refund_order', { order_id: order })
    const failed = /error|fail|500/i.test(results.at(-1))
    if (failed && told.includes('say so')) return say(`I could not refund order ${order}: the payment system failed. Nothing was refunded.`)
    return say(`Your refund for order ${order} has been issued. The money is on its way.`)
  }
  if (/cancel/i.test(user)) {
    if (told.includes('cancel_order') && !done.includes('cancel_order')) return call('cancel_order', { order_id: order })
    if (!done.includes('get_order')) return call('get_order', { order_id: order })
    return say(`I cannot cancel order ${order} from here. A colleague has to do that.`)
  }
  if (parcel) {
    if (!results.length || !told.includes('track a parcel once')) return call('track_parcel', { parcel_id: parcel })
    return say(`Parcel ${parcel} has not been scanned yet. Its whereabouts are not known.`)
  }
  return say('How can I help you with your order?')
}

function completion (body) {
  const { text, calls } = next(body.messages)
  const message = { role: 'assistant', content: text ?? null }
  if (calls) message.tool_calls = calls.map((c, i) => ({ id: `call_${body.messages.length}_${i}`, type: 'function', function: { name: c.name, arguments: JSON.stringify(c.args) } }))
  const prompt = Math.round(JSON.stringify(body.messages).length / 4)
  return { id: 'chatcmpl-' + body.messages.length, object: 'chat.completion', created: 1764500000, model: body.model,
    choices: [{ index: 0, message, finish_reason: calls ? 'tool_calls' : 'stop' }], usage: { prompt_tokens: prompt, completion_tokens: 20, total_tokens: prompt + 20 } }
}

createServer(async (req, res) => {
  let text = ''
  for await (const chunk of req) text += chunk
  const answer = (status, body) => res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  try {
    if (req.url === '/v1/chat/completions') return answer(200, completion(JSON.parse(text)))
    if (req.url === '/v1/traces') return appendFileSync(traces, text + '\n'), answer(200, {})
    const tool = shop[req.url.slice('/shop/'.length)]
    return tool ? answer(...tool(JSON.parse(text))) : answer(404, { error: 'no such page' })
  } catch (e) { answer(400, { error: String(e) }) }
}).listen(0, '127.0.0.1', function () { console.log(`http://127.0.0.1:${this.address().port}`) })
