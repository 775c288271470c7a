import { type Context, clientWithKey } from '../context.ts'
import { Failure } from '../failure.ts'
import { dollars } from '../terminal.ts'
import { parseDollars } from './arguments.ts'
import { clientOfKey, findStored } from './stored-keys.ts'
import { requireConsent } from './topup.ts'

interface LimitFlags {
  readonly maxCall?: string
  readonly maxDay?: string
  readonly maxTotal?: string
  readonly services?: string
  readonly expires?: string
}

interface KeyFlags extends LimitFlags {
  readonly name?: string
}

/** Creates a sub-key with limits. The key is shown once. */
export async function createKey(context: Context, flags: KeyFlags): Promise<void> {
  const order = { name: flags.name, ...limitsOf(flags) }
  const client = await clientWithKey(context)
  const { body } = await client.send('/v1/keys', { method: 'POST', body: order })
  await context.terminal.result(body, () =>
    [String(body['api_key']), '', `${String(body['key_id'])}. This key is shown once.`].join('\n'),
  )
}

/** Changes those limits of a sub-key that are given. */
export async function limitKey(context: Context, id: string, flags: LimitFlags): Promise<void> {
  const body = limitsOf(flags)
  if (Object.values(body).every((value) => value === undefined)) {
    throw new Failure('usage', 'No limit is given.', 'Such as --max-day 2 or --max-total none')
  }
  const client = await clientWithKey(context)
  const path = `/v1/keys/${encodeURIComponent(id)}`
  await client.send(path, { method: 'PATCH', body })
  const { body: key } = await client.send(path)
  await context.terminal.result(key, () => `Changed the limits of ${id}.`)
}

/** Asks for a higher rate limit of a main key. */
export async function requestRate(
  context: Context,
  [requests, purpose]: readonly [string, string],
  { key }: { readonly key?: string },
): Promise<void> {
  if (!/^[1-9]\d{0,6}$/.test(requests)) {
    throw new Failure('usage', `Not a number of requests: ${requests}`, 'Such as 5000')
  }
  const client = await clientWithKey(context)
  const order = { key_id: key, requests_per_minute: Number(requests), purpose }
  const { body } = await client.send('/v1/rate-requests', { method: 'POST', body: order })
  await context.terminal.result(body, () =>
    [
      `Requested ${requests} requests per minute for ${String(body['key_id'])}.`,
      'An administrator decides. GET /v1/rate-requests and the event rate.decided tell you.',
    ].join('\n'),
  )
}

/** Limits of a request; null for `none`, undefined for those that are not given. */
const limitsOf = (flags: LimitFlags) => ({
  max_call_microdollars: unlessNone(flags.maxCall, (text) => Number(parseDollars(text))),
  max_day_microdollars: unlessNone(flags.maxDay, (text) => Number(parseDollars(text))),
  max_total_microdollars: unlessNone(flags.maxTotal, (text) => Number(parseDollars(text))),
  services: unlessNone(flags.services, (text) => text.split(',').map((slug) => slug.trim())),
  expires_at: unlessNone(flags.expires, parseInstant),
})

const unlessNone = <T>(text: string | undefined, parse: (text: string) => T) =>
  text === undefined ? undefined : text === 'none' ? null : parse(text)

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
  const created = own ? { key_id: id, stored: true } : made
  try {
    if (own) await store.saveCredential(hub, { ...own, api_key: apiKey })
  } catch (error) {
    terminal.warn(`The new secret of ${id} could not be stored: ${apiKey}`)
    throw error
  }
  await terminal.result(created, () =>
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
