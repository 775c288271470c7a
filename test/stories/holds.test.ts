import { systemClock } from '../../core/clock.ts'
import { uuidv7 } from '../../core/ids.ts'
import { expireHolds } from '../../core/ledger/expire.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { usd } from '../../core/money.ts'
import { eventually } from '../support/eventually.ts'
import { useHub } from '../support/suite.ts'
import { flawed } from './failing-services.ts'
import { type Scene, tell, type Verb } from './table.ts'

const PAYEE = 'liabilities:providers:example:flawed'

/** Ledger operations of a call whose process died. */
function dying(): Readonly<Record<string, Verb>> {
  const calls = new Map<string, string>()
  const holdOf = async ({ hub, actor }: Scene, who: string) => ({
    call: calls.get(who)!,
    owner: await hub.hub.ledger.account(creditsOf(actor(who).keyId!)),
  })
  const responseOf = ({ outcome }: { outcome: string }) => [{ status: 200, source: outcome }]
  return {
    /** `reserves 0.300000 for 4 s` */
    reserves: async (scene, who, rest) => {
      const [, amount = '', seconds = ''] = /^(\S+) for (\d+) s$/.exec(rest) ?? []
      calls.set(who, uuidv7(systemClock.now().getTime()))
      const { ledger } = scene.hub.hub
      const order = { amount: usd(amount), commissionBps: 1_000, ttlSeconds: Number(seconds) }
      const payee = await ledger.account(PAYEE)
      return responseOf(await ledger.reserve({ ...order, ...(await holdOf(scene, who)), payee }))
    },
    settles: async (scene, who, rest) =>
      responseOf(await scene.hub.hub.ledger.settle(await holdOf(scene, who), usd(rest))),
    releases: async (scene, who) =>
      responseOf(await scene.hub.hub.ledger.release(await holdOf(scene, who))),
    /** Waits until the hold has expired. */
    waits: async ({ hub: { hub } }, who) => {
      const sql = 'SELECT FROM ledger.journal WHERE id = $1 AND phase = 1 AND expires_at <= now()'
      await eventually(async () => (await hub.pool.query(sql, [calls.get(who)])).rowCount === 1)
      return []
    },
    /** Simulates a ledger whose clock is behind. */
    finds: async ({ hub: { hub } }) => {
      const early = { outcome: 'no_such_hold', balance: 0n } as const
      await expireHolds(hub.pool, { expire: async () => early })
      return []
    },
    expires: async ({ hub: { hub } }) => {
      await expireHolds(hub.pool, hub.ledger)
      return []
    },
  }
}

describe('story: the hold of a process that died', () => {
  const hub = useHub({ plugins: [flawed] })

  it('is released when it expires and cannot be charged afterwards', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has       1.000000
      ada  reserves  0.300000 for 4 s  => applied  ada 0.700000  holds 0.300000
      hub  expires   holds             => ada 0.700000  holds 0.300000
      ada  calls     flawed/works      => credits  ada 0.699000  holds 0.300000
      ada  waits     for its end
      hub  expires   holds             => ada 0.999000  holds 0.000000
      ada  settles   0.300000          => id_reused_with_other_terms  ada 0.999000  example 0.000900
      ada  releases  it                => id_reused_with_other_terms  ada 0.999000  holds 0.000000
      hub  expires   holds             => ada 0.999000
      `,
      dying(),
    ))

  it('is not released if it was settled in time', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has       1.000000
      ada  reserves  0.300000 for 4 s  => applied  ada 0.700000
      ada  settles   0.200000          => applied  ada 0.800000  example 0.180000  holds 0.000000
      ada  settles   0.200000          => replayed  ada 0.800000  commission 0.020000
      ada  waits     for its end
      hub  expires   holds             => ada 0.800000  example 0.180000
      `,
      dying(),
    ))

  it('is released later if a clock was set back', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has         1.000000
      ada  reserves    0.300000 for 1 s  => applied  ada 0.700000
      ada  waits       for its end
      hub  finds       it too early      => ada 0.700000  holds 0.300000
      hub  expires     holds             => ada 1.000000  holds 0.000000
      `,
      dying(),
    ))

  it('does not expire while its call is in flight', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has       0.001000
      ada  reserves  0.001000 for 60 s => applied  ada 0.000000
      hub  expires   holds             => ada 0.000000  holds 0.001000
      ada  calls     flawed/works      => 402 insufficient_credits
      ada  releases  it                => applied  ada 0.001000
      ada  calls     flawed/works      => credits  ada 0.000000  holds 0.000000
      `,
      dying(),
    ))
})
