import { createInterface } from 'node:readline'
import { createPool } from '../../../../core/db/pool.ts'
import { localFacilitator } from '../../../../core/payments/facilitators/local.ts'
import { createOffers } from '../../../../core/payments/receiving/offers.ts'
import { oneByOne } from './fixture.ts'

/**
 * Process that settles with a given key. Prints `ready`; for each input line, a list of payments
 * with their requirements, it settles all concurrently, each by its own transaction, and prints
 * their outcomes as a line of JSON.
 */
const [rpcUrl = '', key = '', databaseUrl = '', network = '', payTo = ''] = process.argv.slice(2)
const facilitator = localFacilitator({
  rpcUrl,
  key: key as `0x${string}`,
  network,
  pollMs: 20,
  pool: createPool(databaseUrl, { max: 4, role: 'hub_app' }),
})
const offers = createOffers({
  facilitator: oneByOne(facilitator),
  payTo: payTo as `0x${string}`,
  network,
})
process.stdout.write('ready\n')
for await (const line of createInterface({ input: process.stdin })) {
  const payments: Parameters<typeof offers.settle>[] = JSON.parse(line)
  const ends = await Promise.all(payments.map((args) => offers.settle(...args)))
  const outcomes = ends.map(({ outcome, tx, reason }) => ({ outcome, tx, reason }))
  process.stdout.write(`${JSON.stringify(outcomes)}\n`)
}
process.exit(0)
