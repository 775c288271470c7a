import { type ClientOptions, type HubClient, HubError } from '../../../core/client/index.ts'
import { type Context, isSandbox } from '../context.ts'
import { Failure } from '../failure.ts'
import type { Credential } from '../store.ts'
import { dollars, table } from '../terminal.ts'
import { requireWallet } from '../wallet.ts'
import { parseDollars } from './arguments.ts'
import { requireConsent } from './topup.ts'

interface Key {
  readonly key_id: string
  readonly parent: string | null
  readonly name: string | null
  readonly balance_microdollars: number | null
  readonly max_call_microdollars: number | null
  readonly max_day_microdollars: number | null
  readonly max_total_microdollars: number | null
  readonly day_remaining_microdollars: number | null
  readonly total_remaining_microdollars: number | null
  readonly used_at: string | null
  readonly revoked_at: string | null
}

/** Key of the list: known to the hub, stored here, or both. */
interface ListedKey {
  readonly key_id: string
  readonly stored: boolean
  readonly in_use: boolean
  /** Undefined if the hub does not accept the stored key. */
  readonly key: Key | undefined
}

/** Finds a stored key by its id. */
export const findStored = async (
  { store, hub }: Context,
  id: string,
): Promise<Credential | undefined> =>
  (await store.credentialsOf(hub)).find(({ key_id: each }) => each === id)

/** Returns a client with the first stored of these keys; without one, with the key in use. */
export async function clientOfKey(
  context: Context,
  ids: readonly string[],
  options: Partial<ClientOptions> = {},
): Promise<HubClient> {
  const stored = await Promise.all(ids.map((id) => findStored(context, id)))
  const apiKey = stored.find(Boolean)?.api_key ?? (await context.store.apiKey())
  return context.client({ apiKey, ...options })
}

/** Lists the stored keys of this hub and their sub-keys, and marks the one in use. */
export async function listKeys(context: Context): Promise<void> {
  const { store, hub, settings, terminal } = context
  const stored = await store.credentialsOf(hub)
  const secrets = stored.map(({ api_key: secret }) => secret)
  const own = await store.apiKey()
  const known = await Promise.all(
    [...new Set([own, ...secrets])].map((secret) => readKeys(context, secret)),
  )
  const keys = [...new Map(known.flat().map((key) => [key.key_id, key])).values()]
  const inUse = settings.apiKey === undefined ? stored[0]?.key_id : known[0]?.[0]?.key_id
  const listed = [...new Set([...keys, ...stored].map(({ key_id: id }) => id))].map((id) => ({
    key_id: id,
    stored: stored.some(({ key_id: each }) => each === id),
    in_use: id === inUse,
    key: keys.find(({ key_id: each }) => each === id),
  }))
  const data = listed.map(({ key, ...local }) => ({
    ...key,
    ...local,
    accepted: key !== undefined,
  }))
  await terminal.result({ data }, () => formatKeys(listed))
}

/** Reads a key and its sub-keys; none if the hub does not accept the key. */
async function readKeys({ client }: Context, apiKey: string): Promise<readonly Key[]> {
  const keys: Key[] = []
  let path: string | null = '/v1/keys?limit=100'
  while (path !== null) {
    const response: { readonly body: object } | undefined = await client({ apiKey })
      .send(path)
      .catch((error: unknown) => {
        if (error instanceof HubError && error.status === 401) return undefined
        throw error
      })
    if (!response) return keys
    const page = response.body as { data: readonly Key[]; next_cursor: string | null }
    keys.push(...page.data)
    path = page.next_cursor && `/v1/keys?limit=100&cursor=${encodeURIComponent(page.next_cursor)}`
  }
  return keys
}

function formatKeys(listed: readonly ListedKey[]): string {
  const amount = (value: number | null | undefined) => (value == null ? '' : dollars(BigInt(value)))
  const limit = (left: number | null | undefined, all: number | null | undefined) =>
    all == null ? '' : `${amount(left)} of ${amount(all)}`
  return table(
    ['key', 'name', 'parent', 'credits', 'call', 'left today', 'left in total', 'last used', ''],
    listed.map(({ key_id: id, key, stored, in_use: isInUse }) => [
      id,
      key?.name ?? '',
      key?.parent ?? '',
      amount(key?.balance_microdollars),
      amount(key?.max_call_microdollars),
      limit(key?.day_remaining_microdollars, key?.max_day_microdollars),
      limit(key?.total_remaining_microdollars, key?.max_total_microdollars),
      key ? (key.used_at?.slice(0, 10) ?? 'never') : '',
      [
        isInUse ? 'in use' : stored ? 'stored' : '',
        key === undefined ? 'not accepted' : key.revoked_at === null ? '' : 'revoked',
      ]
        .filter((word) => word !== '')
        .join(', '),
    ]),
  )
}

/** Puts a stored key in use. */
export async function useKey(context: Context, id: string): Promise<void> {
  const { store, hub, terminal, settings } = context
  const stored = await findStored(context, id)
  if (!stored) {
    const ids = (await store.credentialsOf(hub)).map(({ key_id: each }) => each).join(', ')
    const hint = ids === '' ? 'Get one with `hub register`.' : `Stored: ${ids}`
    throw new Failure('usage', `The key ${id} of ${hub} is not stored here.`, hint)
  }
  await store.saveCredential(hub, stored)
  if (settings.apiKey !== undefined) {
    terminal.warn('HUB_API_KEY is set: commands use it, not the stored key.')
  }
  await terminal.result({ hub, key_id: id, in_use: true }, () => `${id} is in use for ${hub}.`)
}

interface TransferFlags {
  readonly keystore?: string
}

/** Moves credits between two main keys of the wallet, which signs the transfer. */
export async function transferCredits(
  context: Context,
  [from, to, dollarsText]: readonly [string, string, string],
  { keystore }: TransferFlags,
): Promise<void> {
  const { terminal } = context
  const amount = parseDollars(dollarsText)
  const wallet = await requireWallet(context, await isSandbox(context), keystore)
  await requireConsent(context, `Move ${dollars(amount)} of credits from ${from} to ${to}?`)
  const client = await clientOfKey(context, [to, from], { wallet })
  const work = client.transfer({ from, to, amount })
  const { body } = await terminal.withSpinner('Moving', work)
  const left = dollars(BigInt(Number(body['balance_microdollars'])))
  await terminal.result(body, () => `Moved ${dollars(amount)} to ${to}; ${from} has ${left} left.`)
}
