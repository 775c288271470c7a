import type { Pool } from 'pg'
import { getAddress } from 'viem'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import {
  creditsOfKey,
  findKey,
  type KeyInfo,
  listKeys,
  makeChild,
  renameKey,
  revokeKey,
  rotateKey,
} from '../../../core/identity/children.ts'
import { freeze, thaw } from '../../../core/identity/key-state.ts'
import { personOf } from '../../../core/identity/people.ts'
import { makeRoot } from '../../../core/identity/roots.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { json, micros } from '../../../core/money.ts'
import { setLowBalanceThreshold } from '../../../core/usage/low-balance.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { type AnyRoute, managerOf, type RestRequest, route, sessionOf } from '../route.ts'

const limit = z.int().min(1).max(Number.MAX_SAFE_INTEGER).nullable()
const name = z.string().min(1).max(100).nullable()
const slug = z.string().regex(/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/, 'a slug')

const Limits = {
  max_call_microdollars: limit.meta({ description: 'For one call.' }),
  max_day_microdollars: limit.meta({ description: 'In a UTC day.' }),
  max_total_microdollars: limit.meta({ description: 'In all its life.' }),
  services: z.array(slug).min(1).max(100).nullable().meta({ description: 'null: all.' }),
  expires_at: z.iso.datetime().nullable(),
}

const Frozen = z
  .object({
    at: z.iso.datetime(),
    by: z.enum(['owner', 'administrator']),
    reason: z.string(),
  })
  .nullable()
  .meta({ description: 'It works when it is thawed again; null: it works.' })

const Key = z.object({
  key_id: z.string(),
  parent: z.string().nullable().meta({ description: 'null: a root, with credits of its own.' }),
  role: z.enum(['agent', 'provider']).meta({
    description: 'provider: it manages what its principal sells, and spends nothing.',
  }),
  name: z.string().nullable(),
  wallet_address: z.string().nullable().meta({ description: 'null: of an account.' }),
  prefixes: z.array(z.string()).meta({ description: 'Of its secrets that work.' }),
  balance_microdollars: z
    .int()
    .nullable()
    .meta({ description: 'Credits of a root; null: it spends those of its root.' }),
  ...Limits,
  created_at: z.iso.datetime(),
  used_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
  frozen: Frozen,
})

export type KeyJson = z.infer<typeof Key>

const Secret = z.object({
  key_id: z.string(),
  api_key: z.string().meta({ description: 'Shown this once. Send it as a Bearer token.' }),
})

export type SecretJson = z.infer<typeof Secret>

const Done = z.object({ key_id: z.string() })
const OVERLAP_MAX = 604_800

interface KeyPorts {
  readonly pool: Pool
  readonly ledger: Ledger
}

/**
 * Keys, and the keys below them: those spend the credits of their root, within limits that never
 * change. A key manages itself and all below it; who is signed in manages all of the account.
 */
export const keyRoutes = (ports: KeyPorts): readonly AnyRoute[] => [
  ...makingRoutes(ports),
  ...managingRoutes(ports),
  ...freezingRoutes(ports),
]

const Order = z
  .strictObject({
    name,
    ...Limits,
    parent: z.string().max(40).meta({ description: 'Left out: this key, or none: a root.' }),
  })
  .partial()

const makingRoutes = (ports: KeyPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/keys',
    summary: 'This key and all keys below it, or all of the account, oldest first.',
    auth: 'owner',
    query: z.strictObject(paging),
    answer: { status: 200, schema: pageOf(Key) },
    handle: async (request) => {
      const { limit: size, cursor } = request.query
      const after = readCursor(cursor, z.tuple([z.string().max(40)]))
      const rows = await listKeys(ports.pool, managerOf(request), size + 1, after?.[0])
      return page(rows, size, request.url, ({ id }) => [id], show)
    },
  }),
  route({
    method: 'GET',
    path: '/v1/keys/{id}',
    summary: 'This key or one below it, or one of the account.',
    auth: 'owner',
    answer: { status: 200, schema: Key },
    faults: ['not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      return { body: show(await findKey(ports.pool, managerOf(request), id)) }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/keys',
    summary: 'Makes a key below another one with limits of its own, or a root of the account.',
    auth: 'owner',
    body: Order,
    answer: { status: 201, location: '/v1/keys/{key_id}', schema: Secret },
    faults: ['key_limit_reached', 'not_found'],
    handle: async (request) => {
      const made = await make(ports, request)
      return { status: 201, body: { key_id: made.keyId, api_key: made.apiKey } }
    },
  }),
]

/** A root holds its limits as its credits: what it may spend is what is paid in. */
async function make({ pool, ledger }: KeyPorts, request: RestRequest<Order, undefined>) {
  const { body, caller } = request
  const parent = body.parent ?? caller?.keyId
  const expiresAt = body.expires_at == null ? null : new Date(body.expires_at)
  const order = {
    name: body.name ?? null,
    maxCall: amountOf(body.max_call_microdollars),
    maxDay: amountOf(body.max_day_microdollars),
    maxTotal: amountOf(body.max_total_microdollars),
    services: body.services ?? null,
    expiresAt,
  }
  if (parent !== undefined) return makeChild(pool, managerOf(request), parent, order)
  const { maxCall, maxDay, maxTotal, services } = order
  if ([maxCall, maxDay, maxTotal, services].some((limit) => limit !== null)) {
    throw new Fault('validation_failed', 'A root has no limits but its credits: name a parent.')
  }
  return makeRoot(pool, ledger, await personOf(pool, sessionOf(request)), order)
}

type Order = z.infer<typeof Order>

const managingRoutes = ({ pool }: KeyPorts): readonly AnyRoute[] => [
  route({
    method: 'PATCH',
    path: '/v1/keys/{id}',
    summary: 'Renames this key or one below it, or says when its credits are low.',
    auth: 'owner',
    body: z
      .strictObject({
        name,
        low_balance_microdollars: z.int().min(0).nullable().meta({
          description: 'Of a root: below it balance.low is told. null: below one dollar.',
        }),
      })
      .partial(),
    answer: { status: 200, schema: Done },
    faults: ['not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      const { name, low_balance_microdollars: low } = request.body
      const manager = managerOf(request)
      await findKey(pool, manager, id)
      const credits = low === undefined ? undefined : await creditsOfKey(pool, manager, id)
      if (name !== undefined) await renameKey(pool, manager, id, name)
      if (credits !== undefined && low !== undefined) {
        await setLowBalanceThreshold(pool, credits, low === null ? null : micros(low))
      }
      return { body: { key_id: id } }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/keys/{id}/rotate',
    summary: 'Gives this key or one below it a new secret; the old one goes on for a while.',
    auth: 'owner',
    body: z.strictObject({
      overlap_seconds: z.int().min(0).max(OVERLAP_MAX).default(0),
    }),
    answer: { status: 201, location: '/v1/keys/{key_id}', schema: Secret },
    faults: ['not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      const { overlap_seconds: overlap } = request.body
      const made = await rotateKey(pool, managerOf(request), id, overlap)
      return { status: 201, body: { key_id: made.keyId, api_key: made.apiKey } }
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/keys/{id}',
    summary: 'Revokes this key or one below it, with all that it made; everywhere within a second.',
    auth: 'owner',
    answer: { status: 200, schema: Done },
    faults: ['not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      await revokeKey(pool, managerOf(request), id)
      return { body: { key_id: id } }
    },
  }),
]

const freezingRoutes = ({ pool }: KeyPorts): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/keys/{id}/freeze',
    summary: 'Stops a key below this one, with all that it made, until it is thawed.',
    auth: 'owner',
    body: z.strictObject({ reason: z.string().min(1).max(200) }),
    answer: { status: 200, schema: Done },
    faults: ['not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      await freeze(pool, id, { manager: managerOf(request) }, request.body.reason)
      return { body: { key_id: id } }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/keys/{id}/thaw',
    summary: 'Lets a frozen key below this one work again.',
    auth: 'owner',
    answer: { status: 200, schema: Done },
    faults: ['not_found', 'frozen_key'],
    handle: async (request) => {
      const { id = '' } = request.params
      await thaw(pool, id, { manager: managerOf(request) })
      return { body: { key_id: id } }
    },
  }),
]

const amountOf = (value: number | null | undefined): bigint | null =>
  value == null ? null : BigInt(value)
const jsonOf = (amount: bigint | null): number | null => (amount === null ? null : json(amount))
const timeOf = (date: Date | null): string | null => date?.toISOString() ?? null

const show = (key: KeyInfo) => ({
  key_id: key.id,
  parent: key.parent,
  role: key.role,
  name: key.name,
  wallet_address: key.wallet_address === null ? null : getAddress(key.wallet_address),
  prefixes: key.prefixes,
  balance_microdollars: jsonOf(key.balance),
  max_call_microdollars: jsonOf(key.max_call),
  max_day_microdollars: jsonOf(key.max_day),
  max_total_microdollars: jsonOf(key.max_total),
  services: key.services,
  expires_at: timeOf(key.expires_at),
  created_at: key.created_at.toISOString(),
  used_at: timeOf(key.used_at),
  revoked_at: timeOf(key.revoked_at),
  frozen:
    key.frozen_at === null
      ? null
      : { at: key.frozen_at.toISOString(), by: key.frozen_by, reason: key.frozen_reason },
})
