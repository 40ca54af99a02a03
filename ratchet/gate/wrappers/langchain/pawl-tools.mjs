// Under pawl check, tools answer from the recording in place of their own body. Elsewhere they are left as they are.
//
//   const agent = createAgent({ model, tools: replayed([findParcel, listParcels]) })

/** The recorded answer of a tool; a recorded failure throws with its words. */
export async function ask (tool, args) {
  const res = await fetch(process.env.PAWL_TOOLS_URL, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ tool, arguments: args }) })
  const answer = await res.json()
  if (!res.ok) throw new Error(typeof answer.error === 'string' ? answer.error : JSON.stringify(answer.error))
  return answer.result
}

/** The tools that tool() and DynamicStructuredTool make, with their body replaced, in place. */
export function replayed (tools) {
  if (!process.env.PAWL_TOOLS_URL) return tools
  for (const t of tools) {
    const text = async args => { const result = await ask(t.name, args); return typeof result === 'string' ? result : JSON.stringify(result) }
    if (typeof t.func === 'function') t.func = t.responseFormat === 'content_and_artifact' ? async args => [await text(args), null] : text
  }
  return tools
}
