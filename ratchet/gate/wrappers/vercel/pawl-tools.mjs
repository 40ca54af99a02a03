// Under pawl check, tools answer from the recording in place of their own body. Elsewhere they are left as they are.
//
//   generateText({ model, tools: replayed({ findParcel: tool({ ... }) }), ... })

/** The recorded answer of a tool; a recorded failure throws with its words. */
export async function ask (tool, args) {
  const res = await fetch(process.env.PAWL_TOOLS_URL, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ tool, arguments: args }) })
  const answer = await res.json()
  if (!res.ok) throw new Error(typeof answer.error === 'string' ? answer.error : JSON.stringify(answer.error))
  return answer.result
}

/** The tools of the AI SDK, by name, with their execute replaced. Tools without one (the client's) stay as they are. */
export function replayed (tools) {
  if (!process.env.PAWL_TOOLS_URL) return tools
  return Object.fromEntries(Object.entries(tools).map(([name, t]) => [name, t.execute ? { ...t, execute: args => ask(name, args) } : t]))
}
