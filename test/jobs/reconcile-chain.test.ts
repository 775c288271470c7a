import { expect } from 'chai'
import { encodeFunctionData, parseAbi } from 'viem'
import { usd } from '../../core/money.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { OutgoingSwitch } from '../../core/payments/operations/outgoing-switch.ts'
import { reconcile } from '../../core/reconciliation/reconcile.ts'
import { reconcileChain } from '../../jobs/reconcile-chain.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { buyWeather, createAdmin } from '../server/rest/finance/fixture.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'

const ABI = parseAbi(['function transfer(address to, uint256 value)'])
const THIEF = '0x000000000000000000000000000000000000dead'

describe('the chain reconciliation job', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  let ada: TestAgent
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })

  const deps = () => {
    const { money } = hub().sandbox!
    const wallets = { treasury: money.treasury, spend: money.spend.address }
    return { ...hub().hub.paymentDeps, pool: hub().hub.pool, wallets }
  }
  const run = () => reconcileChain(deps())
  const state = () => new OutgoingSwitch(hub().hub.pool).state()
  const resume = () => admin.ask(hub(), 'outgoing', { paused: false, reason: 'looked into it' })

  /** Takes test USDC out of the spend wallet, as a thief with its key would. */
  async function drain(value: bigint): Promise<void> {
    const { rpcUrl, money } = hub().sandbox!
    const from = money.spend.address
    const data = encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [THIEF, value] })
    await callRpc(rpcUrl, 'anvil_setBalance', [from, '0xde0b6b3a7640000'])
    await callRpc(rpcUrl, 'anvil_impersonateAccount', [from])
    const transaction = { from, to: USDC_BASE.address, data, gas: '0x7a120' }
    const hash = await callRpc(rpcUrl, 'eth_sendTransaction', [transaction])
    await eventually(
      async () => (await callRpc(rpcUrl, 'eth_getTransactionReceipt', [hash])) !== null,
    )
  }

  it('leaves payments to sellers on while the ledger and open payments explain them', async () => {
    await buyWeather(hub(), ada.apiKey)
    await buyWeather(hub(), ada.apiKey, 'fault=took')
    await run()
    expect(await state()).to.equal(undefined)
  })

  it('pauses them when money left the spend wallet that the ledger does not explain', async () => {
    await drain(1_234n)
    await run()
    const paused = await state()
    expect(paused).to.include({ paused: true, author: 'reconciliation' })
    expect(paused?.reason).to.match(/^Exception \d+: \$0\.001234 was sent to 0x0+dead; no/)
    const { body } = await buyWeather(hub(), ada.apiKey)
    expect(body).to.include({ code: 'payments_paused', charged_microdollars: 0 })
    const { body: payments } = await admin.ask(hub(), 'outgoing')
    expect(payments).to.include({ paused: true, author: 'reconciliation' })
    expect(hub().logged()).to.match(/payments to sellers are paused: `npm run payments -- resume`/)
  })

  it('pauses again for a new difference, not for one that a person has seen', async () => {
    await resume()
    await run()
    expect(await state()).to.include({ paused: false, author: admin.wallet })
    expect(await buyWeather(hub(), ada.apiKey)).to.have.property('status', 200)
    await drain(2n)
    await run()
    const again = await state()
    expect(again).to.include({ paused: true, author: 'reconciliation' })
    expect(again?.reason)
      .to.match(/^Exception \d+: \$0\.000002 was sent/)
      .and.not.match(/001234/)
  })

  it('pauses them in the transaction that stores the difference', async () => {
    await resume()
    await drain(3n)
    await reconcile(deps())
    expect(await state()).to.include({ paused: true, author: 'reconciliation' })
    const { rows } = await hub().hub.pool.query<{ same: boolean }>(
      `SELECT (SELECT xmin FROM hub.outgoing_switch ORDER BY id DESC LIMIT 1)
         = (SELECT xmin FROM hub.reconciliation ORDER BY id DESC LIMIT 1) AS same`,
    )
    expect(rows).to.deep.equal([{ same: true }])
  })

  it('pauses them while the last run is ten minutes old', async () => {
    await resume()
    await hub().hub.pool.query(
      `INSERT INTO hub.reconciliation (wallet, address, from_block, to_block, block_hash,
         block_time, chain_balance, ledger_balance, transfers, matched, pending, exceptions, at)
       SELECT wallet, address, from_block, to_block, block_hash, block_time, chain_balance,
         ledger_balance, transfers, matched, pending, exceptions, at - interval '11 minutes'
       FROM hub.reconciliation WHERE wallet = 'spend' ORDER BY id DESC LIMIT 1`,
    )
    expect(await state()).to.include({ paused: true, author: 'reconciliation' })
    const { status, body } = await buyWeather(hub(), ada.apiKey)
    expect([status, body['code']]).to.deep.equal([503, 'payments_paused'])
    await run()
    expect(await state()).to.include({ paused: false, author: admin.wallet })
    expect(await buyWeather(hub(), ada.apiKey)).to.have.property('status', 200)
  })
})
