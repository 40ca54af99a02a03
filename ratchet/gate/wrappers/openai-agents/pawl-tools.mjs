// Under pawl check, tools answer from the recording in place of their own body. Elsewhere they are left as they are.
//
//   const findParcel = tool(replayed({ name: 'find_parcel', parameters, execute: async ({ tracking_number }) => ... }))

/** The recorded answer of a tool; a recorded failure throws with its words. */
export async function ask (tool, args) {
  const res = await fetch(process.env.PAWL_TOOLS_URL, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ tool, arguments: args }) })
  const answer = await res.json()
  if (!res.ok) throw new Error(typeof answer.error === 'string' ? answer.error : JSON.stringify(answer.error))
  return answer.result
}

/** The options of tool(), with execute replaced: what else they say (needsApproval, errorFunction) holds. */
export function replayed (options) {
  if (!process.env.PAWL_TOOLS_URL) return options
  return { ...options, execute: args => ask(options.name, args) }
}
