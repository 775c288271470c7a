import * as fc from 'fast-check'
import type { Pool } from 'pg'
import { systemClock } from '../../../../core/clock.ts'
import { openShards } from '../../../../core/identity/shards.ts'
import { takeSnapshots } from '../../../../core/ledger/history/snapshot.ts'
import { type AccountRef, Ledger } from '../../../../core/ledger/ledger.ts'
import { micros, newId, order } from '../world.ts'

const ROUND = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('call' as const),
        owner: fc.nat(3),
        payee: fc.nat(2),
        amount: fc.bigInt(1n, 900n),
        charged: fc.bigInt(0n, 900n),
        guarded: fc.boolean(),
        end: fc.constantFrom('settle', 'settle', 'release', 'none'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('buy' as const),
        owner: fc.nat(3),
        amount: fc.bigInt(1n, 5_000n),
        /** How many milliseconds before it was booked; undefined: not dated. */
        before: fc.option(fc.nat(300), { nil: undefined }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('sum up' as const) }) },
  ),
  { minLength: 4, maxLength: 12, size: 'max' },
)
type Step = typeof ROUND extends fc.Arbitrary<readonly (infer T)[]> ? T : never

/** Calls with and without guards, purchases of now and of a while ago, on some shards at once. */
export async function bookAtRandom(
  pool: Pool,
  seed: number,
  { rounds, shards }: { rounds: number; shards: number },
): Promise<Ledger> {
  await openShards(pool, shards)
  const books = new Ledger(pool, { shards })
  const credits = (i: number) => `liabilities:agents:random_${i}:credits`
  const agents: AccountRef[] = []
  const guards: AccountRef[] = []
  for (const i of [0, 1, 2, 3]) {
    const home = i % shards
    agents.push(await books.open(credits(i), 'USDC', { home }))
    const guard = await books.open(`liabilities:allowances:random_${i}`, 'ALLOWANCE', { home })
    guards.push(guard)
    const grant = { type: 'units.granted', account: guard.code, asset: 'ALLOWANCE' } as const
    await books.post({ ...grant, units: 20_000n }, { owner: guard, id: newId() })
  }
  const payees = await Promise.all(
    [0, 1].map((i) => books.open(`liabilities:providers:random_${i}:x`, 'USDC')),
  )
  const run = async (step: Step): Promise<unknown> => {
    if (step.do === 'sum up') return takeSnapshots(pool)
    const owner = agents[step.owner]!
    if (step.do === 'buy') {
      const event = { type: 'credits.purchased', credits: owner.code } as const
      const effectiveAt =
        step.before === undefined
          ? {}
          : { effectiveAt: new Date(systemClock.now().getTime() - step.before) }
      return books.post(
        { ...event, amount: micros(step.amount) },
        { owner, id: newId(), ...effectiveAt },
      )
    }
    // An agent may sell too: to another one, or to itself, which moves less than it seems.
    const payee = payees[step.payee] ?? agents[step.owner]!
    const guarded = step.guarded ? { guards: [guards[step.owner]!] } : {}
    const call = order(owner, payee, step.amount, guarded)
    const { outcome } = await books.reserve(call)
    if (outcome !== 'applied' || step.end === 'none') return
    if (step.end === 'release') return books.release(call)
    const charged = step.charged < step.amount ? step.charged : step.amount
    return books.settle(call, charged)
  }
  for (const round of fc.sample(ROUND, { numRuns: rounds, seed })) {
    await Promise.all(round.map((step) => run(step)))
  }
  return books
}
