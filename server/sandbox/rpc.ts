import { request } from 'undici'

const TIMEOUT_MS = 5_000

/** Sends one JSON-RPC call to the sandbox chain. @throws Error, also after 5 s */
export async function callRpc(
  url: string,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  const { body } = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const answer = (await body.json()) as { result?: unknown; error?: { message: string } }
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}
