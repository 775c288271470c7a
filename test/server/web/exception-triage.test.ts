import { expect } from 'chai'
import { proposeMatches } from '../../../server/web/pages/finance/exception-triage.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createStaff } from '../staff/fixture.ts'
import { useTabs } from './tabs.ts'

const exception = (id: number, amount: number, minute: number, more: object = {}) => ({
  exception_id: String(id),
  amount_microdollars: amount,
  wallet: 'treasury' as const,
  kind: 'balance_differs',
  transaction: null,
  found_at: `2026-11-27T10:${String(minute).padStart(2, '0')}:00.000Z`,
  ...more,
})

describe('proposed matches of exceptions', () => {
  const idsOf = (rows: readonly ReturnType<typeof exception>[]) =>
    proposeMatches(rows).map((pair) => pair.map((each) => Number(each.exception_id)))

  it('pair opposite amounts of one wallet, the nearest in time, each exception once', () => {
    const rows = [exception(1, 500, 0), exception(2, -500, 40), exception(3, -500, 1)]
    expect(idsOf(rows)).to.deep.equal([[1, 3]])
  })

  it('prefer the same transaction, also between wallets', () => {
    const moved = { transaction: '0xaa' }
    const rows = [
      exception(1, -500, 0, moved),
      exception(2, 500, 1),
      exception(3, 500, 59, { ...moved, wallet: 'spend' as const }),
    ]
    expect(idsOf(rows)).to.deep.equal([[1, 3]])
  })

  it('leave out amounts that differ, amounts of zero and other wallets', () => {
    const spend = { wallet: 'spend' as const }
    const rows = [exception(1, 500, 0), exception(2, -501, 0), exception(3, -500, 0, spend)]
    expect(idsOf([...rows, exception(4, 0, 0), exception(5, 0, 0)])).to.deep.equal([])
  })
})

describe('triage of exceptions in a browser', function () {
  this.timeout(180_000) // starting the browser takes time
  const admin = createAdmin()
  const tabs = useTabs(() => hub().url)
  const hub = useHub({ config: { admins: [admin.wallet] } })

  const plant = async (amounts: readonly number[]): Promise<readonly string[]> => {
    const { rows } = await hub().database.admin.query<{ id: bigint }>(
      `INSERT INTO hub.reconciliation_exception (wallet, kind, fact, amount, reason)
       SELECT 'treasury', 'balance_differs', gen_random_uuid()::text, a, 'Nobody knows.'
       FROM unnest($1::bigint[]) a RETURNING id`,
      [amounts],
    )
    return rows.map(({ id }) => String(id))
  }

  for (const scripts of [true, false]) {
    it(`resolves several at once, ${scripts ? 'with' : 'without'} scripts`, async () => {
      const who = await createStaff(hub(), admin, `fay-${scripts}@house.example`, 'finance')
      const [up = '', down = '', a = '', b = '', other = ''] = await plant([
        9_000_000, -9_000_000, 700, -400, 300,
      ])
      const tab = await tabs.open({ scripts, cookie: who.cookie })
      if (scripts) await tabs.assertAccessible(tab, '/finance/exceptions') // axe is a script
      await tab.emulate({ width: 1_200 })
      await tab.go('/finance/exceptions')
      await Promise.all([
        tab.page.waitForNavigation(),
        tab.page.click(`button[aria-label^="Accept: ${up} and ${down} "]`),
      ])
      expect(await tab.text()).to.include('Exception resolved')
      expect(await tab.send('bulk', { reason: 'none selected' })).to.include('Select at least one')
      const order = { decision: 'post', reason: 'Dust of October.' }
      const text = await tab.send('bulk', { ...order, [`pick-${a}`]: '', [`pick-${b}`]: '' })
      expect(text).to.include('2 exceptions resolved')
      const { rows } = await hub().database.admin.query<{ id: bigint; resolution: string | null }>(
        'SELECT id, resolution FROM hub.reconciliation_exception WHERE id = ANY ($1) ORDER BY id',
        [[up, down, a, b, other]],
      )
      expect(rows.map(({ resolution }) => resolution)).to.deep.equal([
        'explained',
        'explained',
        'booked',
        'booked',
        null,
      ])
      await hub().database.admin.query(
        `UPDATE hub.reconciliation_exception SET resolution = 'explained', resolved_at = now(),
           author = 'test', explanation = 'test' WHERE id = $1`,
        [other],
      )
      await tab.close()
    })
  }

  it('resolves small deposits together, apart from other differences', async () => {
    const who = await createStaff(hub(), admin, 'sam@house.example', 'finance')
    await hub().database.admin.query(
      `INSERT INTO hub.reconciliation_exception (wallet, kind, fact, amount, reason)
       SELECT 'spend', 'unknown_deposit', gen_random_uuid()::text, 5, 'Dust of a stranger.'
       FROM generate_series(1, 40)`,
    )
    const [other] = await plant([-9_000])
    const tab = await tabs.open({ scripts: true, cookie: who.cookie })
    await tabs.assertAccessible(tab, '/finance/exceptions')
    await tab.go('/finance/exceptions?state=small')
    expect(await tab.text()).to.include('Dust of a stranger')
    await tab.go('/finance/exceptions')
    const text = await tab.text()
    expect(text)
      .to.include('40 deposits to spend')
      .and.to.match(/balance differs/i)
    expect(text).not.to.include('Dust of a stranger')
    expect(await tab.send('deposits', { reason: 'Dust of November.' })).to.include(
      '40 small deposits resolved',
    )
    await tab.close()
    await hub().database.admin.query(
      `UPDATE hub.reconciliation_exception SET resolution = 'explained', resolved_at = now(),
         author = 'test', explanation = 'test' WHERE id = $1`,
      [other],
    )
  })
})
