import { sleep, systemClock } from '../../../../core/clock.ts'
import { reopened } from './reopened.ts'
import { ingestionFrom, QUICK } from './support.ts'

/**
 * Ingestion in a process of its own, to be killed by tests; it ends when nothing is missing.
 * Its clock shows `startedAt` of the journal when that of the system shows `base`.
 */
const [url = '', port = '', base = '', startedAt = ''] = process.argv.slice(2)
const clock = {
  now: () => new Date(Date.parse(startedAt) + systemClock.now().getTime() - Number(base)),
}
const { database, close } = await reopened(url)
const settings = { ...QUICK, paceMs: 4, claimMs: 200 }
const { ingestion, close: disconnect } = ingestionFrom(Number(port), { database, clock, settings })
const never = new AbortController().signal
await ingestion.backfill(1, never)
for (let tries = 0; tries < 100 && !(await ingestion.report()).complete; tries++) {
  await sleep(50)
  await ingestion.sync(never)
}
await disconnect()
await close()
