import { existsSync } from 'node:fs'
import { clockLeadMs } from '../../../core/client/index.ts'
import { type Context, isSandbox } from '../context.ts'
import { Failure, toFailure } from '../failure.ts'
import { isReadableByOthers } from '../files.ts'
import { dollars } from '../terminal.ts'
import { walletFile } from '../wallet.ts'

/** Difference of the clocks from which on payments may be refused. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000

interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}

/** Checks everything that a call needs and reports what is missing. */
export async function doctor(context: Context): Promise<void> {
  const { terminal } = context
  const { hub, leadMs } = await hubCheck(context)
  const checks: Check[] = [hub]
  if (hub.ok) {
    if (leadMs !== undefined) checks.push(clockCheck(leadMs))
    checks.push(await keyCheck(context), await mcpCheck(context))
    checks.push(await walletCheck(context))
  }
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
  if (bad.length > 0) {
    const kind = hub.ok ? 'error' : 'unreachable'
    throw new Failure(kind, `${bad.length} of ${checks.length} checks failed.`)
  }
}

interface HubCheck {
  readonly hub: Check
  /** Milliseconds by which this machine's clock is ahead of the hub's. */
  readonly leadMs?: number | undefined
}

async function hubCheck({ client, hub }: Context): Promise<HubCheck> {
  try {
    const response = await client().send('/health')
    const { version, sandbox } = response.body
    const kind = sandbox === true ? 'a sandbox' : 'real money'
    const detail = `${hub}, version ${String(version)}, ${kind}`
    return { hub: { name: 'hub', ok: true, detail }, leadMs: clockLeadMs(response) }
  } catch (error) {
    return { hub: { name: 'hub', ok: false, detail: describeError(error) } }
  }
}

/** Compares the clocks, because payments are valid from and until an instant. */
function clockCheck(leadMs: number): Check {
  const difference = Math.abs(leadMs)
  if (difference <= MAX_CLOCK_DIFFERENCE_MS) {
    return { name: 'clock', ok: true, detail: 'agrees with the hub' }
  }
  const place = `${Math.round(difference / 1_000)} s ${leadMs > 0 ? 'ahead of' : 'behind'} the hub`
  return { name: 'clock', ok: false, detail: `${place}: set it, or payments will be refused` }
}

async function keyCheck({ client, store }: Context): Promise<Check> {
  try {
    const { body } = await client({ apiKey: await store.apiKey() }).balance()
    const credits = dollars(BigInt(Number(body['balance_microdollars'])))
    return { name: 'key', ok: true, detail: `works; ${credits} of credits` }
  } catch (error) {
    return { name: 'key', ok: false, detail: describeError(error) }
  }
}

function describeError(error: unknown): string {
  const { message, hint } = toFailure(error) ?? { message: String(error), hint: undefined }
  return hint && !hint.includes('hub doctor') ? `${message} ${hint}` : message
}

/** Checks the wallet, which only registration and payments need. */
async function walletCheck(context: Context): Promise<Check> {
  const { store, settings } = context
  const sandbox = await isSandbox(context)
  const file = walletFile(store, sandbox)
  if (settings.privateKey !== undefined && !sandbox) {
    return { name: 'wallet', ok: true, detail: 'from HUB_PRIVATE_KEY' }
  }
  const detail = existsSync(file) ? file : 'none yet: `hub register` creates one'
  return { name: 'wallet', ok: true, detail }
}

/** Checks that an assistant would find the hub's tools. */
export async function mcpCheck({ client, store, settings, hub }: Context): Promise<Check> {
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
    return { name: 'mcp', ok: false, detail: describeError(error) }
  }
}

async function filesCheck({ store, settings }: Context): Promise<Check> {
  const files = [store.path('credentials.json'), walletFile(store, false), walletFile(store, true)]
  const loose: string[] = []
  for (const file of files) if (await isReadableByOthers(file)) loose.push(file)
  return loose.length === 0
    ? { name: 'files', ok: true, detail: settings.dir }
    : {
        name: 'files',
        ok: false,
        detail: `other users can read ${loose.join(', ')}: run chmod 600 on them`,
      }
}
