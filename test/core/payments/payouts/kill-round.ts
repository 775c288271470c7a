import { expect } from 'chai'
import { elapsedMs, sleep } from '../../../../core/clock.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { reconcile } from '../../../../core/reconciliation/reconcile.ts'
import type { PayoutFixture, Provider } from './fixture.ts'

/** A provider and the amount it is owed. */
export interface Owed extends Provider {
  readonly owed: bigint
}

/** Creates providers with different earnings on both shards, ordered by id. */
export async function owedProviders(world: PayoutFixture, count: number): Promise<Owed[]> {
  const owed: Owed[] = []
  for (let first = 0; first < count; first += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, i) => first + i)
    owed.push(...(await Promise.all(some.map((n) => owedProvider(world, n)))))
  }
  return owed
}

const AT_ONCE = 10

async function owedProvider(world: PayoutFixture, n: number): Promise<Owed> {
  const provider = await world.provider(`p-${String(n).padStart(6, '0')}`)
  const amounts = provider.accounts.map((_, i) => BigInt(1_000 + n * 7 + i))
  await Promise.all(provider.accounts.map((account, i) => world.earn(account, amounts[i]!)))
  return { ...provider, owed: amounts.reduce((a, b) => a + b, 0n) }
}

/**
 * Runs two workers concurrently, each killed (-9) and replaced: the first while payouts are being
 * started, the second while they are being sent.
 */
export async function payWithKills(world: PayoutFixture, count: number): Promise<void> {
  const number = async (where: string): Promise<number> =>
    (
      await world.pool.query<{ n: number }>(
        `SELECT count(*)::integer AS n FROM hub.payout WHERE ${where}`,
      )
    ).rows[0]!.n
  const until = async (done: () => Promise<boolean>): Promise<void> => {
    for (const end = elapsedMs() + 60_000; elapsedMs() < end; await sleep(2)) {
      if (await done()) return
    }
    throw new Error('timed out')
  }
  const [first, second] = await Promise.all([world.payer(), world.payer()])
  await until(async () => (await number('true')) >= count / 3)
  await first.kill()
  const third = await world.payer()
  await until(async () => (await number(`state = 'confirmed' OR transaction IS NOT NULL`)) > 0)
  await second.kill()
  const fourth = await world.payer()
  await Promise.all([third.exited, fourth.exited])
  expect(await number(`state = 'started'`)).to.equal(0)
}

/** Asserts that each was paid once exactly what it is owed, and ledger and chain agree. */
export async function judgeRound(world: PayoutFixture, owed: readonly Owed[]): Promise<void> {
  const { pool, chain, ledger, stack, spend } = world
  const { rows } = await pool.query<{ provider: string; amount: bigint }>(
    `SELECT provider, amount FROM hub.payout WHERE state = 'confirmed' ORDER BY provider`,
  )
  expect(rows).to.deep.equal(owed.map(({ id, owed: amount }) => ({ provider: id, amount })))
  for (let i = 0; i < owed.length; i += 50) {
    const some = owed.slice(i, i + 50)
    const held = await Promise.all(some.map(({ address }) => chain.balanceOf(address)))
    expect(held).to.deep.equal(some.map(({ owed: amount }) => amount))
  }
  expect(0n - (await ledger.balance('assets:usdc:base:spend'))).to.equal(
    await chain.balanceOf(spend),
  )
  expect(await ledger.balance('liabilities:payouts:in-transit')).to.equal(0n)
  expect(await ledger.balance('equity:between-shards')).to.equal(0n)
  const { ok, checks } = await verifyLedger(pool)
  expect(ok, checks.map(({ name, bad }) => `${name} ${bad}`).join()).to.equal(true)
  await stack.rpc('anvil_mine')
  const wallets = { treasury: stack.payTo, spend }
  const runs = await reconcile({ pool, chain, finality: 1n, wallets }, { skewSeconds: 0 })
  expect(runs.flatMap(({ exceptions }) => exceptions.map(({ reason }) => reason))).to.deep.equal([])
  expect(runs[1]!.chain, 'of the spend wallet').to.equal(runs[1]!.ledger)
}
