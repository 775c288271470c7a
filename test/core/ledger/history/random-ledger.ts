import * as fc from 'fast-check'
import type { Pool } from 'pg'
import { systemClock } from '../../../../core/clock.ts'
import { openShards } from '../../../../core/identity/shards.ts'
import { takeSnapshots } from '../../../../core/ledger/history/snapshot.ts'
import { type AccountRef, Ledger } from '../../../../core/ledger/ledger.ts'
import { micros, newId, order } from '../fixture.ts'

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
        /** Milliseconds before posting; undefined for no value date. */
        before: fc.option(fc.nat(300), { nil: undefined }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('sum up' as const) }) },
  ),
  { minLength: 4, maxLength: 12, size: 'max' },
)
type Step = typeof ROUND extends fc.Arbitrary<readonly (infer T)[]> ? T : never

/** Posts random calls with and without guards and purchases, some dated back, on several shards. */
export async function postRandomEntries(
  pool: Pool,
  seed: number,
  { rounds, shards }: { rounds: number; shards: number },
): Promise<Ledger> {
  await openShards(pool, shards)
  const ledger = new Ledger(pool)
  const credits = (i: number) => `liabilities:agents:random_${i}:credits`
  const agents: AccountRef[] = []
  const guards: AccountRef[] = []
  for (const i of [0, 1, 2, 3]) {
    const home = i % shards
    agents.push(await ledger.open(credits(i), 'USDC', { home }))
    const guard = await ledger.open(`liabilities:allowances:random_${i}`, 'ALLOWANCE', { home })
    guards.push(guard)
    const grant = { type: 'units.granted', account: guard.code, asset: 'ALLOWANCE' } as const
    await ledger.post({ ...grant, units: 20_000n }, { owner: guard, id: newId() })
  }
  const payees = await Promise.all(
    [0, 1].map((i) => ledger.open(`liabilities:providers:random_${i}:x`, 'USDC')),
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
      return ledger.post(
        { ...event, amount: micros(step.amount) },
        { owner, id: newId(), ...effectiveAt },
      )
    }
    // An agent may also sell, to another one or to itself.
    const payee = payees[step.payee] ?? agents[step.owner]!
    const guarded = step.guarded ? { guards: [guards[step.owner]!] } : {}
    const call = order(owner, payee, step.amount, guarded)
    const { outcome } = await ledger.reserve(call)
    if (outcome !== 'applied' || step.end === 'none') return
    if (step.end === 'release') return ledger.release(call)
    const charged = step.charged < step.amount ? step.charged : step.amount
    return ledger.settle(call, charged)
  }
  for (const round of fc.sample(ROUND, { numRuns: rounds, seed })) {
    await Promise.all(round.map((step) => run(step)))
  }
  return ledger
}
