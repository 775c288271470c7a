import { Readable } from 'node:stream'
import { defineService, Reply, s, usd } from 'agenthub/plugin'
import type { Pool } from 'pg'
import { inTransaction } from '../../core/db/transaction.ts'
import { createLog } from '../../core/log.ts'
import { recoverCalls } from '../../core/usage/recover-calls.ts'
import { eventually } from '../support/eventually.ts'
import type { TestHub } from '../support/hub.ts'
import { WITHOUT_TRIGGERS } from '../support/without-triggers.ts'

export const PRICE = usd('0.01')
/** More than is stored for a repetition. */
const LARGE = 'x'.repeat(1_200_000)

/** Counts the handled calls. */
export const work = { done: 0 }

const endpoint = { summary: 'Works.', price: PRICE, input: s.object({}) }
const small = { ...endpoint, handle: async () => ({ done: ++work.done }) }

/** Service with responses that are stored, and others. */
export const works = defineService({
  slug: 'works',
  name: 'Works',
  category: 'test',
  summary: 'Responds in several sizes.',
  provider: 'example',
  endpoints: {
    'POST /small': small,
    'POST /large': { ...endpoint, handle: async () => ({ done: ++work.done, text: LARGE }) },
    'POST /stream': {
      ...endpoint,
      streams: true,
      handle: async () => {
        work.done++
        return new Reply(Readable.from([LARGE]), { headers: { 'content-type': 'text/plain' } })
      },
    },
  },
})
/** Service with free calls, whose responses are not stored. */
export const gratis = defineService({
  slug: 'gratis',
  name: 'Gratis',
  category: 'test',
  summary: 'Has free calls.',
  provider: 'example',
  freeCallsPerMonth: 2,
  endpoints: {
    'POST /large': { ...endpoint, handle: async () => ({ done: ++work.done, text: LARGE }) },
  },
})

/** Simulates a process that died after the charge and before it recorded the call. */
export const loseRecordOf = ({ database }: TestHub, id: unknown): Promise<unknown> =>
  eventually(async () => {
    return (await database.admin.query('DELETE FROM hub.call WHERE id = $1', [id])).rowCount === 1
  })

const LOG = createLog('error')

/** Recovers calls as if they had been charged three minutes ago. */
export async function recoverOldCallsOf(
  { hub: { pool, ledger }, database: { admin } }: TestHub,
  log = LOG,
): Promise<void> {
  await moveCharges(admin, '-3 minutes')
  try {
    for (let times = 0; times < 2; times++) await recoverCalls(pool, ledger, log)
  } finally {
    await moveCharges(admin, '3 minutes')
  }
}

/** Changes the time of all charges. In UTC, because Citus refuses arithmetic of time zones. */
const moveCharges = (admin: Pool, by: string): Promise<unknown> =>
  inTransaction(
    admin,
    (client) =>
      client.query(
        `UPDATE ledger.journal SET at = (at AT TIME ZONE 'UTC' + $1::interval) AT TIME ZONE 'UTC'
         WHERE kind = 2`,
        [by],
      ),
    WITHOUT_TRIGGERS,
  )
