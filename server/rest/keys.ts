import type { Pool } from 'pg'
import { z } from 'zod'
import {
  type KeyInfo,
  listKeys,
  makeChild,
  renameKey,
  revokeKey,
  rotateKey,
} from '../../core/identity/children.ts'
import { json } from '../../core/money.ts'
import { page, pageOf, paging, readCursor } from './paging.ts'
import { type AnyRoute, callerOf, route } from './route.ts'

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

const Key = z.object({
  key_id: z.string(),
  parent: z.string().nullable().meta({ description: 'null: a root, with credits of its own.' }),
  name: z.string().nullable(),
  prefixes: z.array(z.string()).meta({ description: 'Of its secrets that work.' }),
  ...Limits,
  created_at: z.iso.datetime(),
  used_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
})

const Secret = z.object({
  key_id: z.string(),
  api_key: z.string().meta({ description: 'Shown this once. Send it as a Bearer token.' }),
})

const Done = z.object({ key_id: z.string() })
const OVERLAP_MAX = 604_800

/** A key, and the keys below it: they spend its credits, within limits that never change. */
export const keyRoutes = (pool: Pool): readonly AnyRoute[] => [
  ...makingRoutes(pool),
  ...managingRoutes(pool),
]

const makingRoutes = (pool: Pool): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/keys',
    summary: 'This key and all keys below it, oldest first.',
    auth: 'key',
    query: z.strictObject(paging),
    answer: { status: 200, schema: pageOf(Key) },
    handle: async (request) => {
      const { limit: size, cursor } = request.query
      const after = readCursor(cursor, z.tuple([z.string().max(40)]))
      const rows = await listKeys(pool, callerOf(request), size + 1, after?.[0])
      return page(rows, size, request.url, ({ id }) => [id], show)
    },
  }),
  route({
    method: 'POST',
    path: '/v1/keys',
    summary: 'Makes a key below this one, with limits of its own.',
    auth: 'key',
    body: z.strictObject({ name, ...Limits }).partial(),
    answer: { status: 201, schema: Secret },
    faults: ['key_limit_reached'],
    handle: async (request) => {
      const { body } = request
      const made = await makeChild(pool, callerOf(request), {
        name: body.name ?? null,
        maxCall: amountOf(body.max_call_microdollars),
        maxDay: amountOf(body.max_day_microdollars),
        maxTotal: amountOf(body.max_total_microdollars),
        services: body.services ?? null,
        expiresAt: body.expires_at == null ? null : new Date(body.expires_at),
      })
      return { status: 201, body: { key_id: made.keyId, api_key: made.apiKey } }
    },
  }),
]

const managingRoutes = (pool: Pool): readonly AnyRoute[] => [
  route({
    method: 'PATCH',
    path: '/v1/keys/{id}',
    summary: 'Renames this key or one below it.',
    auth: 'key',
    body: z.strictObject({ name }),
    answer: { status: 200, schema: Done },
    faults: ['not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      await renameKey(pool, callerOf(request), id, request.body.name)
      return { body: { key_id: id } }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/keys/{id}/rotate',
    summary: 'Gives this key or one below it a new secret; the old one goes on for a while.',
    auth: 'key',
    body: z.strictObject({
      overlap_seconds: z.int().min(0).max(OVERLAP_MAX).default(0),
    }),
    answer: { status: 201, schema: Secret },
    faults: ['not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      const { overlap_seconds: overlap } = request.body
      const made = await rotateKey(pool, callerOf(request), id, overlap)
      return { status: 201, body: { key_id: made.keyId, api_key: made.apiKey } }
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/keys/{id}',
    summary: 'Revokes this key or one below it, with all that it made; everywhere within a second.',
    auth: 'key',
    answer: { status: 200, schema: Done },
    faults: ['not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      await revokeKey(pool, callerOf(request), id)
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
  name: key.name,
  prefixes: key.prefixes,
  max_call_microdollars: jsonOf(key.max_call),
  max_day_microdollars: jsonOf(key.max_day),
  max_total_microdollars: jsonOf(key.max_total),
  services: key.services,
  expires_at: timeOf(key.expires_at),
  created_at: key.created_at.toISOString(),
  used_at: timeOf(key.used_at),
  revoked_at: timeOf(key.revoked_at),
})
