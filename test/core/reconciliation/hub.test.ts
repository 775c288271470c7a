import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import { reconcile } from '../../../core/reconciliation/reconcile.ts'
import { eventually } from '../../support/eventually.ts'
import { useHub } from '../../support/suite.ts'

describe('the ledger of a running hub', () => {
  const hub = useHub()

  it('agrees with the chain at all times, pending items included', async () => {
    const { paymentDeps: ports, pool } = hub().hub
    const { money, sellerUrl } = hub().sandbox!
    const wallets = { treasury: money.treasury, spend: money.spend.address }
    const run = () => reconcile({ ...ports, pool, wallets })
    const { client, address } = await hub().agent(usd('20'))
    expect(address).to.match(/^0x/)
    const at = { work: true, runs: 0 }
    const work = async () => {
      for (let i = 0; i < 4; i++) {
        await client.purchase(usd('5'))
        await client.external({ url: `${sellerUrl}/weather?city=Oslo` })
        await client.external({ url: `${sellerUrl}/weather?fault=v1` })
        await eventually(() => !at.work || at.runs >= i) // each round is reconciled
      }
    }
    const watch = async () => {
      for (; at.work; at.runs++) {
        for (const { exceptions } of await run()) expect(exceptions).to.deep.equal([])
      }
    }
    const over = () => void (at.work = false)
    await Promise.all([work().finally(over), watch().finally(over)])
    await resolvePayments(ports, 0)
    const settled = await run()
    expect(settled.map(({ exceptions, pending }) => [exceptions, pending])).to.deep.equal([
      [[], []],
      [[], []],
    ])
    expect(settled.map(({ chain, ledger }) => [chain, ledger])).to.deep.equal([
      [usd('20'), usd('20')],
      [usd('49.92'), usd('49.92')],
    ])
  })
})
