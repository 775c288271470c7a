import { type Context, clientWithKey } from '../context.ts'
import { Failure } from '../failure.ts'
import { dollars } from '../terminal.ts'
import { parsePrice } from './search.ts'
import { clientOfKey, findStored } from './stored-keys.ts'
import { requireConsent } from './topup.ts'

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
  const own = await findStored(context, id)
  const client = await clientOfKey(context, [id])
  const seconds = overlap === undefined ? 0 : Number(overlap)
  if (!Number.isInteger(seconds) || seconds < 0)
    throw new Failure('usage', `Not seconds: ${overlap}`)
  const body = { overlap_seconds: seconds }
  const path = `/v1/keys/${encodeURIComponent(id)}/rotate`
  const { body: made } = await client.send(path, { method: 'POST', body })
  const apiKey = String(made['api_key'])
  const told = own ? { key_id: id, stored: true } : made
  try {
    if (own) await store.saveCredential(hub, { ...own, api_key: apiKey })
  } catch (error) {
    terminal.warn(`The new secret of ${id} could not be stored: ${apiKey}`)
    throw error
  }
  await terminal.result(told, () =>
    own ? `${id} has another secret, stored in ${store.path('credentials.json')}` : apiKey,
  )
}

/** Permanently revokes a key and its sub-keys, after naming the credits that move. */
export async function revokeKey(context: Context, id: string): Promise<void> {
  const client = await clientOfKey(context, [id])
  const path = `/v1/keys/${encodeURIComponent(id)}`
  const { balance_microdollars: credits } = (await client.send(path)).body
  const rest = credits
    ? ` Its ${dollars(BigInt(Number(credits)))} of credits moves to your oldest other main key ` +
      'of the same wallet or account. Without one, it cannot be spent any more.'
    : ''
  await requireConsent(context, `Revoke ${id} and its sub-keys permanently?${rest}`)
  const { body } = await client.send(path, { method: 'DELETE' })
  await context.terminal.result(body, () => revokedText(id, body))
}

/** Describes where the credits of a revoked key are. */
function revokedText(id: string, body: Readonly<Record<string, unknown>>): string {
  const [moved = 0n, left = 0n] = ['moved', 'left'].map((part) =>
    BigInt(Number(body[`${part}_microdollars`])),
  )
  const texts = [
    `Revoked ${id}.`,
    moved > 0n && `${dollars(moved)} of credits moved to ${String(body['credits_to'])}.`,
    left > 0n && `${dollars(left)} of credits stay on it and cannot be spent.`,
  ]
  return texts.filter(Boolean).join(' ')
}
