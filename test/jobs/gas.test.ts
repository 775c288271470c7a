import { expect } from 'chai'
import { GAS } from '../../core/ledger/postings.ts'
import { createLog } from '../../core/log.ts'
import { usd } from '../../core/money.ts'
import { accountGas } from '../../jobs/gas.ts'
import { useHub } from '../support/suite.ts'

const GWEI = 1_000_000_000n
const log = createLog('silent')

describe('the gas accounting job', () => {
  const hub = useHub()
  const account = async (): Promise<void> => {
    const { hub: running, sandbox } = hub()
    const { pool, ledger } = running
    const gas = { wallet: sandbox!.money.gas!, ethPrice: usd('3000'), lowGwei: 0n }
    await accountGas({ pool, ledger, finality: 1n, gas, log })
  }
  const inLedger = async (): Promise<bigint> => 0n - (await hub().hub.ledger.balance(GAS))
  const onChain = async (): Promise<bigint> => (await hub().sandbox!.money.gas!.balance()) / GWEI

  it('posts exactly what the wallet spent, to the gwei, while the hub is busy', async () => {
    const [one, two] = await Promise.all([hub().agent(usd('10')), hub().agent(usd('10'))])
    for (const { client } of [one, two, one]) {
      await client.purchase(usd('5'))
      await account()
      expect(await inLedger()).to.equal(await onChain())
    }
    const { rows } = await hub().hub.pool.query(
      `SELECT count(*) AS n FROM ledger.journal j JOIN ledger.kind k ON k.id = j.kind
       WHERE k.event = 'gas.paid'`,
    )
    expect(rows[0].n).to.equal(3n)
  })

  it('does nothing if an external facilitator settles', async () => {
    const { pool, ledger } = hub().hub
    await accountGas({ pool, ledger, finality: 1n, log })
  })
})
