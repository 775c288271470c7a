import type { Pool } from 'pg'
import { getAddress } from 'viem'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { Fault } from '../../../core/errors.ts'
import { freezeKey, thawKey } from '../../../core/identity/key-state.ts'
import { createMainKey } from '../../../core/identity/main-keys.ts'
import { findPersonPrincipal } from '../../../core/identity/people.ts'
import { rotateKey } from '../../../core/identity/rotate-key.ts'
import {
  createSubKey,
  findCreditsAccount,
  findKey,
  type KeyInfo,
  listKeys,
  renameKey,
} from '../../../core/identity/sub-keys.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { json, micros } from '../../../core/money.ts'
import { setLowBalanceThreshold } from '../../../core/usage/low-balance.ts'
import { plainText } from '../fields.ts'
import { listQuery, pageSchema, readCursor, toPage } from '../paging.ts'
import { type AnyRoute, managerOf, type RestRequest, route, sessionOf } from '../route.ts'
import { assertServicesExist, changeLimits, LIMITS } from './key-limits.ts'
import { revokeRoutes } from './revoke-key.ts'

const name = plainText(100).nullable()

const FrozenState = z
  .object({ at: z.iso.datetime(), by: z.enum(['owner', 'administrator']), reason: z.string() })
  .nullable()
  .meta({ description: 'Set while the key is frozen and cannot be used.' })

const Key = z.object({
  key_id: z.string(),
  parent: z.string().nullable().meta({ description: 'null: a main key, which holds credits.' }),
  role: z.enum(['agent', 'provider']).meta({
    description: 'provider: manages the services of its owner and cannot spend.',
  }),
  name: z.string().nullable(),
  wallet_address: z.string().nullable().meta({ description: 'null: a key of an account.' }),
  prefixes: z.array(z.string()).meta({ description: 'Prefixes of its valid secrets.' }),
  balance_microdollars: z.int().nullable().meta({
    description: 'Credits of a main key. null: a sub-key, which spends from its main key.',
  }),
  ...LIMITS,
  day_remaining_microdollars: z.int().nullable().meta({
    description: 'What its own limit leaves on this UTC day.',
  }),
  total_remaining_microdollars: z.int().nullable().meta({
    description: 'What its own total limit leaves.',
  }),
  created_at: z.iso.datetime(),
  used_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
  frozen: FrozenState,
})

export type KeyJson = z.infer<typeof Key>

const Secret = z.object({
  key_id: z.string(),
  api_key: z.string().meta({ description: 'Shown only once. Send it as a Bearer token.' }),
})

export type SecretJson = z.infer<typeof Secret>

const ChangedKey = z.object({ key_id: z.string() })
const OVERLAP_MAX_SECONDS = 604_800
const MAIN_KEYS_WARN = 'Only a main key has credits and a low-balance threshold.'

interface KeyDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly clock: Clock
}

/**
 * Main keys and sub-keys. Sub-keys spend the credits of their main key, within limits that the keys
 * above them set. A key manages itself and its sub-keys; a signed-in person manages all of the
 * account.
 */
export const keyRoutes = (deps: KeyDeps): readonly AnyRoute[] => [
  ...collectionRoutes(deps),
  ...singleKeyRoutes(deps),
  ...revokeRoutes(deps),
  ...freezingRoutes(deps),
]

const NewKey = z
  .strictObject({
    name,
    ...LIMITS,
    parent: z.string().max(40).meta({
      description: 'Parent key. Default: the calling key; with a session, none (a main key).',
    }),
  })
  .partial()

const collectionRoutes = (deps: KeyDeps): readonly AnyRoute[] => [
  route('GET /v1/keys', {
    summary: 'Lists this key and its sub-keys, or all keys of the account, oldest first.',
    auth: 'owner',
    query: listQuery({}),
    response: { status: 200, schema: pageSchema(Key) },
    handle: async (request) => {
      const { limit: size, cursor } = request.query
      const after = readCursor(cursor, z.tuple([z.string().max(40)]))
      const rows = await listKeys(deps.pool, managerOf(request), size + 1, after?.[0])
      return toPage(rows, size, request.url, ({ id }) => [id], showKey)
    },
  }),
  route('GET /v1/keys/{id}', {
    summary: 'Returns this key, a sub-key, or a key of the account.',
    auth: 'owner',
    response: { status: 200, schema: Key },
    faults: ['not_found'],
    handle: async (request) => ({
      body: showKey(await findKey(deps.pool, managerOf(request), request.params.id)),
    }),
  }),
  route('POST /v1/keys', {
    summary: 'Creates a sub-key with its own limits, or a main key of the account.',
    auth: 'owner',
    body: NewKey,
    response: { status: 201, location: '/v1/keys/{key_id}', schema: Secret },
    faults: ['key_limit_reached', 'not_found'],
    handle: async (request) => {
      const made = await createKey(deps, request)
      return { status: 201, body: { key_id: made.keyId, api_key: made.apiKey } }
    },
  }),
]

/** Creates a main key, which is limited only by its credits, or a sub-key. */
async function createKey({ pool, ledger }: KeyDeps, request: RestRequest<NewKey, undefined>) {
  const { body, caller } = request
  const parent = body.parent ?? caller?.keyId
  await assertServicesExist(pool, body.services)
  const expiresAt = body.expires_at == null ? null : new Date(body.expires_at)
  const order = {
    name: body.name ?? null,
    maxCall: toAmount(body.max_call_microdollars),
    maxDay: toAmount(body.max_day_microdollars),
    maxTotal: toAmount(body.max_total_microdollars),
    services: body.services ?? null,
    expiresAt,
    seesMainKey: body.sees_main_key ?? false,
  }
  if (parent !== undefined) return createSubKey(pool, managerOf(request), parent, order)
  const { maxCall, maxDay, maxTotal, services } = order
  if ([maxCall, maxDay, maxTotal, services].some((limit) => limit !== null)) {
    throw new Fault(
      'validation_failed',
      'A main key has no spending limits or services. Set "parent" to create a sub-key.',
    )
  }
  return createMainKey(pool, ledger, await findPersonPrincipal(pool, sessionOf(request)), order)
}

type NewKey = z.infer<typeof NewKey>

const singleKeyRoutes = (deps: KeyDeps): readonly AnyRoute[] => [
  route('PATCH /v1/keys/{id}', {
    summary: 'Renames a key, sets its low-balance threshold, or changes limits of a sub-key.',
    auth: 'owner',
    body: z
      .strictObject({
        name,
        ...LIMITS,
        low_balance_microdollars: z.int().min(0).nullable().meta({
          description: 'Main keys: threshold of the event balance.low. null: 1 USD.',
        }),
      })
      .partial(),
    response: { status: 200, schema: ChangedKey },
    faults: ['not_found', 'root_key_required'],
    handle: async (request) => {
      const { id } = request.params
      const { pool } = deps
      const { name, low_balance_microdollars: low, ...limits } = request.body
      const manager = managerOf(request)
      const { parent } = await findKey(pool, manager, id)
      if (low !== undefined && parent !== null) throw new Fault('root_key_required', MAIN_KEYS_WARN)
      const credits = low === undefined ? undefined : await findCreditsAccount(pool, manager, id)
      await inTransaction(pool, async (client) => {
        if (name !== undefined) await renameKey(client, manager, id, name)
        if (credits !== undefined && low !== undefined) {
          await setLowBalanceThreshold(client, credits.id, low === null ? null : micros(low))
        }
        await changeLimits(client, deps, manager, id, limits) // last: posts to the ledger
      })
      return { body: { key_id: id } }
    },
  }),
  route('POST /v1/keys/{id}/rotate', {
    summary: 'Creates a new secret for this key or a sub-key; the old one works for the overlap.',
    auth: 'owner',
    body: z.strictObject({ overlap_seconds: z.int().min(0).max(OVERLAP_MAX_SECONDS).default(0) }),
    response: { status: 201, location: '/v1/keys/{key_id}', schema: Secret },
    faults: ['not_found', 'key_limit_reached'],
    handle: async (request) => {
      const { overlap_seconds: overlap } = request.body
      const made = await rotateKey(deps.pool, managerOf(request), request.params.id, overlap)
      return { status: 201, body: { key_id: made.keyId, api_key: made.apiKey } }
    },
  }),
]

const freezingRoutes = ({ pool }: KeyDeps): readonly AnyRoute[] => [
  route('POST /v1/keys/{id}/freeze', {
    summary: 'Freezes a sub-key and its own sub-keys until it is unfrozen.',
    auth: 'owner',
    body: z.strictObject({ reason: plainText(200) }),
    response: { status: 200, schema: ChangedKey },
    faults: ['not_found'],
    handle: async (request) => {
      const { id } = request.params
      await freezeKey(pool, id, { manager: managerOf(request) }, request.body.reason)
      return { body: { key_id: id } }
    },
  }),
  route('POST /v1/keys/{id}/thaw', {
    summary: 'Unfreezes a sub-key.',
    auth: 'owner',
    response: { status: 200, schema: ChangedKey },
    faults: ['not_found', 'frozen_key'],
    handle: async (request) => {
      const { id } = request.params
      await thawKey(pool, id, { manager: managerOf(request) })
      return { body: { key_id: id } }
    },
  }),
]

const toAmount = (value: number | null | undefined): bigint | null =>
  value == null ? null : BigInt(value)
const jsonOrNull = (amount: bigint | null): number | null => (amount === null ? null : json(amount))
const isoOrNull = (date: Date | null): string | null => date?.toISOString() ?? null

const showKey = (key: KeyInfo) => ({
  key_id: key.id,
  parent: key.parent,
  role: key.role,
  name: key.name,
  wallet_address: key.wallet_address === null ? null : getAddress(key.wallet_address),
  prefixes: key.prefixes,
  balance_microdollars: jsonOrNull(key.balance),
  max_call_microdollars: jsonOrNull(key.max_call),
  max_day_microdollars: jsonOrNull(key.max_day),
  max_total_microdollars: jsonOrNull(key.max_total),
  day_remaining_microdollars: jsonOrNull(key.day_left),
  total_remaining_microdollars: jsonOrNull(key.total_left),
  services: key.services,
  expires_at: isoOrNull(key.expires_at),
  sees_main_key: key.parent === null || key.sees_main_key,
  created_at: key.created_at.toISOString(),
  used_at: isoOrNull(key.used_at),
  revoked_at: isoOrNull(key.revoked_at),
  frozen:
    key.frozen_at === null
      ? null
      : { at: key.frozen_at.toISOString(), by: key.frozen_by, reason: key.frozen_reason },
})
