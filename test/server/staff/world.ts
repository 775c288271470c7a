import { expect } from 'chai'
import { inTransaction } from '../../../core/db/transaction.ts'
import { makePerson } from '../../../core/identity/people.ts'
import { openSession } from '../../../core/identity/sessions.ts'
import type { Told } from '../../support/ask.ts'
import type { TestHub } from '../../support/hub.ts'
import { type Person, personWith } from '../../support/person.ts'

export type Json = Readonly<Record<string, unknown>>

/** Somebody who is signed in, without the way by mail. */
export async function visitor(hub: TestHub, email: string): Promise<Person> {
  const place = { agent: 'test', network: '127.0.0' }
  const { token } = await inTransaction(hub.hub.pool, async (client) =>
    openSession(client, await makePerson(client, email), place),
  )
  return personWith(hub.url, email, `hub_session=${token}`)
}

/** … who has a role, given by an administrator. */
export async function colleague(
  hub: TestHub,
  admin: { key(hub: TestHub): Promise<string> },
  email: string,
  role: 'admin' | 'finance',
): Promise<Person> {
  const person = await visitor(hub, email)
  const told = await person.ask('/v1/admin/roles', {
    headers: { cookie: '', 'x-api-key': await admin.key(hub) },
    body: { name: email, role, reason: 'they work here' },
  })
  expect(told.status, told.text).to.equal(201)
  return person
}

/** How many lines the audit log has, and the newest of them. */
export async function auditOf(
  hub: TestHub,
): Promise<{ readonly lines: number; readonly last: Json }> {
  const { rows } = await hub.database.admin.query<Json & { seq: bigint }>(
    'SELECT * FROM hub.audit ORDER BY seq DESC LIMIT 1',
  )
  return { lines: Number(rows[0]?.seq ?? 0), last: rows[0] ?? {} }
}

export const refused = ({ status, body, text }: Told, expected: number, code: string): void => {
  expect([status, body['code']], text).to.deep.equal([expected, code])
}

export const data = ({ body, text }: Told): Json[] => {
  expect(body['data'], text).to.be.an('array')
  return body['data'] as Json[]
}
