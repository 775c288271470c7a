import { type Context, clientWithKey } from '../context.ts'
import { Failure } from '../failure.ts'
import { dollars, table } from '../terminal.ts'
import { parsePrice } from './search.ts'
import { requireConsent } from './topup.ts'

interface Key {
  readonly key_id: string
  readonly parent: string | null
  readonly name: string | null
  readonly balance_microdollars: number | null
  readonly max_call_microdollars: number | null
  readonly max_day_microdollars: number | null
  readonly max_total_microdollars: number | null
  readonly used_at: string | null
  readonly revoked_at: string | null
}

/** Lists this key and its sub-keys. */
export async function listKeys(context: Context): Promise<void> {
  const { body } = await (await clientWithKey(context)).send('/v1/keys?limit=100')
  const { data } = body as unknown as { readonly data: readonly Key[] }
  const cap = (amount: number | null) => (amount === null ? '' : dollars(BigInt(amount)))
  await context.terminal.result(body, () =>
    table(
      ['key', 'name', 'below', 'credits', 'call', 'day', 'total', 'last used', ''],
      data.map((key) => [
        key.key_id,
        key.name ?? '',
        key.parent ?? '',
        cap(key.balance_microdollars),
        cap(key.max_call_microdollars),
        cap(key.max_day_microdollars),
        cap(key.max_total_microdollars),
        key.used_at?.slice(0, 10) ?? 'never',
        key.revoked_at === null ? '' : 'revoked',
      ]),
    ),
  )
}

export interface KeyFlags {
  readonly name?: string
  readonly maxCall?: string
  readonly maxDay?: string
  readonly maxTotal?: string
  readonly services?: string
  readonly expires?: string
}

/** Creates a sub-key with limits. The key is shown once. */
export async function createKey(context: Context, flags: KeyFlags): Promise<void> {
  const cap = (text: string | undefined) =>
    text === undefined ? undefined : Number(parsePrice(text))
  const order = {
    name: flags.name,
    max_call_microdollars: cap(flags.maxCall),
    max_day_microdollars: cap(flags.maxDay),
    max_total_microdollars: cap(flags.maxTotal),
    services: flags.services?.split(',').map((slug) => slug.trim()),
    expires_at: flags.expires === undefined ? undefined : parseInstant(flags.expires),
  }
  const client = await clientWithKey(context)
  const { body } = await client.send('/v1/keys', { method: 'POST', body: order })
  await context.terminal.result(body, () =>
    [String(body['api_key']), '', `${String(body['key_id'])}. This key is shown once.`].join('\n'),
  )
}

function parseInstant(text: string): string {
  const instant = new Date(text)
  if (!Number.isNaN(instant.getTime())) return instant.toISOString()
  throw new Failure('usage', `Not a date: ${text}`, 'Such as 2027-01-31')
}

/** Rotates the secret of a key; the old one works for a while. */
export async function rotateKey(
  context: Context,
  id: string,
  { overlap }: { readonly overlap?: string },
): Promise<void> {
  const { store, terminal, hub } = context
  const own = await store.credential(hub)
  const client = await clientWithKey(context)
  const seconds = overlap === undefined ? 0 : Number(overlap)
  if (!Number.isInteger(seconds) || seconds < 0)
    throw new Failure('usage', `Not seconds: ${overlap}`)
  const body = { overlap_seconds: seconds }
  const path = `/v1/keys/${encodeURIComponent(id)}/rotate`
  const { body: made } = await client.send(path, { method: 'POST', body })
  const apiKey = String(made['api_key'])
  const isOwn = own?.key_id === id
  if (isOwn) await store.saveCredential(hub, { ...own, api_key: apiKey })
  const told = isOwn ? { key_id: id, kept: true } : made
  await terminal.result(told, () =>
    isOwn ? `${id} has another secret, kept in ${store.path('credentials.json')}` : apiKey,
  )
}

/** Permanently revokes a key and its sub-keys. */
export async function revokeKey(context: Context, id: string): Promise<void> {
  await requireConsent(context, `Revoke ${id}, and all keys below it, for good?`)
  const client = await clientWithKey(context)
  const { body } = await client.send(`/v1/keys/${encodeURIComponent(id)}`, { method: 'DELETE' })
  await context.terminal.result(body, () => `Revoked ${id}.`)
}
