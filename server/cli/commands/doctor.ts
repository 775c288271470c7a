import { HubError } from '../../../core/client/index.ts'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { isLoose } from '../files.ts'
import { walletFile } from '../wallet.ts'

interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}

/** Looks at everything that a call needs, and says what is missing. */
export async function doctor(context: Context): Promise<void> {
  const { terminal } = context
  const checks: Check[] = [await hubCheck(context)]
  if (checks[0]?.ok) checks.push(await keyCheck(context), await mcpCheck(context))
  checks.push(await filesCheck(context))
  const bad = checks.filter(({ ok }) => !ok)
  await terminal.result({ ok: bad.length === 0, checks }, () =>
    checks
      .map(({ name, ok, detail }) => {
        const mark = ok ? terminal.style('green', '✓') : terminal.style('red', '✗')
        return `${mark} ${name.padEnd(6)} ${detail}`
      })
      .join('\n'),
  )
  if (bad.length > 0) throw new Failure('error', `${bad.length} of ${checks.length} checks failed.`)
}

async function hubCheck({ client, hub }: Context): Promise<Check> {
  try {
    const { body } = await client().send('/health')
    const kind = body['sandbox'] === true ? 'a sandbox' : 'real money'
    return { name: 'hub', ok: true, detail: `${hub}, version ${String(body['version'])}, ${kind}` }
  } catch (error) {
    return { name: 'hub', ok: false, detail: `${hub}: ${(error as Error).message}` }
  }
}

async function keyCheck({ client, store }: Context): Promise<Check> {
  try {
    const { body } = await client({ apiKey: await store.apiKey() }).balance()
    const credits = Number(body['balance_microdollars']) / 1e6
    return { name: 'key', ok: true, detail: `works; $${credits.toFixed(2)} of credits` }
  } catch (error) {
    const told =
      error instanceof HubError || error instanceof Failure ? error.message : String(error)
    return { name: 'key', ok: false, detail: told }
  }
}

async function mcpCheck({ client, store, settings, hub }: Context): Promise<Check> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  try {
    const apiKey = await store.apiKey()
    const { body } = await client({ baseUrl: settings.mcpUrl ?? hub, apiKey }).send('/mcp', {
      method: 'POST',
      body: message,
      headers: { accept: 'application/json, text/event-stream' },
    })
    const { result } = body as { result?: { tools?: readonly unknown[] } }
    const count = result?.tools?.length ?? 0
    return { name: 'mcp', ok: count > 0, detail: `${count} tools at ${settings.mcpUrl ?? hub}/mcp` }
  } catch (error) {
    return { name: 'mcp', ok: false, detail: (error as Error).message }
  }
}

async function filesCheck({ store, settings }: Context): Promise<Check> {
  const files = [store.path('credentials.json'), walletFile(store, false), walletFile(store, true)]
  const loose: string[] = []
  for (const file of files) if (await isLoose(file)) loose.push(file)
  return loose.length === 0
    ? { name: 'files', ok: true, detail: settings.dir }
    : { name: 'files', ok: false, detail: `others may read ${loose.join(', ')}: chmod 600 them` }
}
