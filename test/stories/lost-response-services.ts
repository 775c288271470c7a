import { Readable } from 'node:stream'
import { defineService, Reply, s, usd } from 'agenthub/plugin'
import { createLog } from '../../core/log.ts'
import { recoverCalls } from '../../core/usage/recover-calls.ts'
import { eventually } from '../support/eventually.ts'
import type { TestHub } from '../support/hub.ts'

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
  await admin.query('ALTER TABLE ledger.journal DISABLE TRIGGER USER')
  await admin.query(`UPDATE ledger.journal SET at = at - interval '3 minutes' WHERE kind = 2`)
  try {
    for (let times = 0; times < 2; times++) await recoverCalls(pool, ledger, log)
  } finally {
    await admin.query(`UPDATE ledger.journal SET at = at + interval '3 minutes' WHERE kind = 2`)
    await admin.query('ALTER TABLE ledger.journal ENABLE TRIGGER USER')
  }
}
