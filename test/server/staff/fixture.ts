import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { findOrCreatePerson } from '../../../core/identity/people.ts'
import { openSession } from '../../../core/identity/sessions.ts'
import type { ApiResponse } from '../../support/ask.ts'
import type { TestHub } from '../../support/hub.ts'
import { type Person, personWith } from '../../support/person.ts'

export type Json = Readonly<Record<string, unknown>>

/** Creates a signed-in person without the email link. */
export async function createVisitor(hub: TestHub, email: string): Promise<Person> {
  const place = { agent: 'test', network: '127.0.0' }
  const { token } = await inTransaction(hub.hub.pool, async (client) =>
    openSession(client, await findOrCreatePerson(client, email), place),
  )
  return personWith(hub.url, email, `hub_session=${token}`)
}

/** Creates a signed-in person with a role granted by an administrator. */
export async function createStaff(
  hub: TestHub,
  admin: { key(hub: TestHub): Promise<string> },
  email: string,
  role: 'admin' | 'finance',
): Promise<Person> {
  const person = await createVisitor(hub, email)
  const granted = await person.ask('/v1/admin/roles', {
    headers: { cookie: '', 'x-api-key': await admin.key(hub) },
    body: { name: email, role, reason: 'they work here' },
  })
  expect(granted.status, granted.text).to.equal(201)
  return person
}

/** Number of lines in the audit log, and the newest one. */
export async function readAudit(
  hub: TestHub,
): Promise<{ readonly lines: number; readonly last: Json }> {
  const { rows } = await hub.database.admin.query<Json & { seq: bigint }>(
    'SELECT * FROM hub.audit ORDER BY seq DESC LIMIT 1',
  )
  return { lines: Number(rows[0]?.seq ?? 0), last: rows[0] ?? {} }
}

export const expectRefused = (
  { status, body, text }: ApiResponse,
  expected: number,
  code: string,
): void => {
  expect([status, body['code']], text).to.deep.equal([expected, code])
}

export const dataOf = ({ body, text }: ApiResponse): Json[] => {
  expect(body['data'], text).to.be.an('array')
  return body['data'] as Json[]
}

/** Creates a reconciliation exception. @returns its id */
export async function createException(hub: TestHub): Promise<string> {
  const { rows } = await hub.database.admin.query<{ id: bigint }>(
    `INSERT INTO hub.reconciliation_exception (wallet, kind, fact, amount, reason)
     VALUES ('treasury', 'unknown_deposit', $1, 700, 'Nobody knows.') RETURNING id`,
    [randomUUID()],
  )
  return String(rows[0]!.id)
}

/** Creates an upstream of a key's owner that awaits approval. @returns its slug */
export async function createPendingService(hub: TestHub, keyId: string): Promise<string> {
  const slug = `w-${randomUUID().slice(0, 8)}`
  await hub.database.admin.query(
    `INSERT INTO hub.service (slug, name, category, summary, provider, free_calls_per_month,
       state, family)
     VALUES ($1, 'Waits', 'test', 'Waits.', 'example', 0, 'unlisted', 'upstream')`,
    [slug],
  )
  await hub.database.admin.query(
    `INSERT INTO hub.upstream (slug, owner, provider, name, category, summary, base_url,
       free_calls_per_month, request_headers, response_headers, health_path, state,
       tests_waived_at)
     SELECT $1, principal, 'example', 'Waits', 'test', 'Waits.', 'https://waits.example', 0, '{}',
       '{}', '/', 'pending', now() FROM hub.api_key WHERE id = $2`,
    [slug, keyId],
  )
  await hub.database.admin.query(
    `INSERT INTO hub.upstream_endpoint (service, method, path, position,
         upstream_path, summary, input, query, body, success, passes, deadline_seconds, max_bytes,
         streams, idempotent, retries)
       VALUES ($1, 'GET', '/', 0, '/', 'Waits.', '{"type":"object"}', '{}', 'none', '{200}', '{}',
         1, 1024, false, true, 0)`,
    [slug],
  )
  await hub.database.admin.query(
    `INSERT INTO hub.upstream_price (service, method, path, amount, effective_at)
     VALUES ($1, 'GET', '/', 1, now())`,
    [slug],
  )
  await hub.database.admin.query(
    `INSERT INTO hub.content_version (subject, version, content)
     VALUES ($1, 1, hub.upstream_content($1))`,
    [slug],
  )
  return slug
}

/** Creates a provider whose display name awaits approval. @returns its id */
export async function createPendingName(hub: TestHub): Promise<string> {
  const provider = `n-${randomUUID().slice(0, 8)}`
  const { admin } = hub.database
  await admin.query('INSERT INTO hub.provider (id) VALUES ($1)', [provider])
  await admin.query(
    `INSERT INTO hub.content_version (subject, version, content)
     VALUES ('provider:' || $1, 1, jsonb_build_object('name', 'Name of ' || $1))`,
    [provider],
  )
  return provider
}

/** Last month, such as `2026-10`. */
export function lastMonth(): string {
  const date = systemClock.now()
  date.setUTCDate(0)
  return date.toISOString().slice(0, 7)
}
