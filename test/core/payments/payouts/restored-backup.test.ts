import { expect } from 'chai'
import { OutgoingSwitch } from '../../../../core/payments/operations/outgoing-switch.ts'
import { reconcile } from '../../../../core/reconciliation/reconcile.ts'
import { payProviders } from '../../../../jobs/pay-providers.ts'
import { reconcileWhenDue } from '../../../../jobs/reconcile-chain.ts'
import { withRoot } from '../../../support/postgres.ts'
import { type PayoutFixture, type Provider, startPayoutFixture } from './fixture.ts'

const EARNED = 5_000_000n

describe('outgoing payments after the restore of a backup', () => {
  let fixture: PayoutFixture
  let provider: Provider
  let name: string
  beforeEach(async () => {
    fixture = await startPayoutFixture()
    provider = await fixture.provider('p-one')
    await fixture.earn(provider.accounts[0]!, EARNED)
    name = new URL(fixture.url).pathname.slice(1)
    await reconcile(chainDeps())
  })
  afterEach(async () => {
    await withRoot((root) => root.query(`DROP DATABASE IF EXISTS ${name}_backup`))
    await fixture.stop()
  })

  const chainDeps = () => {
    const { ports, spend, stack } = fixture
    return { ...ports, wallets: { treasury: stack.wallets.treasury.account.address, spend } }
  }
  const payAll = async () => {
    const { account, settle, minimum, rules, ...deps } = fixture.ports
    const payouts = { account, settle, minimum, rules }
    for (let run = 0; run < 3; run++) {
      await payProviders({ ...deps, payouts }, new AbortController().signal)
    }
  }
  const received = () => fixture.chain.balanceOf(provider.address)
  const state = () => new OutgoingSwitch(fixture.pool).state()

  /** Replaces a database by a copy of another one, on which nobody may be connected. */
  const copyDatabase = (from: string, to: string): Promise<void> =>
    withRoot(async (root) => {
      await root.query(`DROP DATABASE IF EXISTS ${to} WITH (FORCE)`)
      await root.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
        [from],
      )
      await root.query(`CREATE DATABASE ${to} TEMPLATE ${from}`)
    })
  const backUp = () => copyDatabase(name, `${name}_backup`)
  const restore = () => copyDatabase(`${name}_backup`, name)
  /** Makes the next payout one of another day or attempt, whose nonce the chain does not know. */
  const changeNonce = () =>
    fixture.admin.query(
      `ALTER TABLE hub.payout DISABLE TRIGGER USER;
       INSERT INTO hub.payout (id, provider, batch, attempt, amount, recovered, shard, payer, payee,
         nonce, valid_before, from_block, state, ended_at, tried_at)
       VALUES (gen_random_uuid(), '${provider.id}', (now() AT TIME ZONE 'UTC')::date, 1, 1, 0, 0,
         '${fixture.spend.toLowerCase()}', '${provider.address}', '0x' || md5('a') || md5('b'),
         now(), 0, 'failed', now(), now());
       ALTER TABLE hub.payout ENABLE TRIGGER USER`,
    )

  for (const [day, onNextDay] of [
    ['the same day', false],
    ['the next day', true],
  ] as const) {
    it(`A290 are not made twice on ${day}, whichever job runs first`, async () => {
      await backUp()
      await payAll()
      expect(await received()).to.equal(EARNED)
      await restore()
      if (onNextDay) await changeNonce()
      await payAll()
      await new OutgoingSwitch(fixture.pool).set(false, 'operator', 'resumed too early')
      await payAll()
      expect(await received()).to.equal(EARNED)
      expect(await state()).to.include({ paused: true })
      expect((await state())?.reason).to.match(/restarted or restored/)
      const { rowCount } = await fixture.pool.query(
        "SELECT FROM hub.payout WHERE state = 'started'",
      )
      expect(rowCount).to.equal(0)
      await reconcileWhenDue(chainDeps())
      await payAll()
      expect(await received()).to.equal(EARNED)
      expect(await state()).to.include({ paused: true, author: 'reconciliation' })
      expect((await state())?.reason).to.match(/^Exception \d+: \$5\.00 was sent to 0x/)
    })
  }

  it('go on by themselves if the backup has all of them', async () => {
    await payAll()
    await backUp()
    await restore()
    await fixture.earn(provider.accounts[0]!, EARNED)
    expect(await state()).to.include({ paused: true })
    await reconcileWhenDue(chainDeps())
    expect(await state()).to.equal(undefined)
  })

  it('wait until what was sent before the restore is final', async () => {
    const deps = { ...chainDeps(), finality: 3n }
    await backUp()
    await fixture.stack.rpc('anvil_mine', '0x3')
    await restore()
    await reconcileWhenDue(deps)
    expect(await state()).to.include({ paused: true })
    await fixture.stack.rpc('anvil_mine', '0x2')
    await reconcileWhenDue(deps)
    expect(await state()).to.equal(undefined)
  })

  it('stay off after a logical restore into the same database', async () => {
    await fixture.admin.query(
      `CREATE TEMP TABLE backup AS SELECT * FROM hub.outgoing_epoch;
       DELETE FROM hub.outgoing_epoch;
       INSERT INTO hub.outgoing_epoch SELECT * FROM backup`,
    )
    expect(await state()).to.include({ paused: true })
  })
})
