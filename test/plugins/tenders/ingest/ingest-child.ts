import { sleep, systemClock } from '../../../../core/clock.ts'
import { openTendersDatabase } from './open-ingestion.ts'
import { FAST_SETTINGS, ingestionFrom } from './support.ts'

/**
 * Ingestion in its own process, killed by tests; exits when nothing is missing. Its clock shows the
 * journal's `startedAt` when the system clock shows `base`.
 */
const [url = '', port = '', base = '', startedAt = ''] = process.argv.slice(2)
const clock = {
  now: () => new Date(Date.parse(startedAt) + systemClock.now().getTime() - Number(base)),
}
const { database, close } = await openTendersDatabase(url)
const settings = { ...FAST_SETTINGS, paceMs: 4, claimMs: 200 }
const { ingestion, close: disconnect } = ingestionFrom(Number(port), { database, clock, settings })
const never = new AbortController().signal
await ingestion.backfill(1, never)
for (let tries = 0; tries < 100 && !(await ingestion.report()).complete; tries++) {
  await sleep(50)
  await ingestion.sync(never)
}
await disconnect()
await close()
