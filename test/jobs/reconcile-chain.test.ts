import { expect } from 'chai'
import { encodeFunctionData, parseAbi } from 'viem'
import { sleep } from '../../core/clock.ts'
import { usd } from '../../core/money.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { OutgoingSwitch } from '../../core/payments/operations/outgoing-switch.ts'
import { reconcile } from '../../core/reconciliation/reconcile.ts'
import { reconcileChain } from '../../jobs/reconcile-chain.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { makeAdmin, weather } from '../server/rest/finance/world.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'

const ABI = parseAbi(['function transfer(address to, uint256 value)'])
const THIEF = '0x000000000000000000000000000000000000dead'

describe('the job that reconciles the chain', () => {
  const admin = makeAdmin()
  const hub = useHub({ config: { admins: [admin.wallet], jobs: false } })
  let ada: TestAgent
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })

  const ports = () => {
    const { money } = hub().sandbox!
    const wallets = { treasury: money.treasury, spend: money.spend.address }
    return { ...hub().hub.ports, pool: hub().hub.pool, wallets }
  }
  const run = () => reconcileChain(ports())
  const state = () => new OutgoingSwitch(hub().hub.pool).state()
  const resume = () => admin.ask(hub(), 'outgoing', { paused: false, reason: 'looked into it' })

  /** Takes test USDC out of the spend wallet, as somebody with its key would. */
  async function drain(value: bigint): Promise<void> {
    const { rpcUrl, money } = hub().sandbox!
    const from = money.spend.address
    const data = encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [THIEF, value] })
    await callRpc(rpcUrl, 'anvil_setBalance', [from, '0xde0b6b3a7640000'])
    await callRpc(rpcUrl, 'anvil_impersonateAccount', [from])
    const transaction = { from, to: USDC_BASE.address, data, gas: '0x7a120' }
    const hash = await callRpc(rpcUrl, 'eth_sendTransaction', [transaction])
    while ((await callRpc(rpcUrl, 'eth_getTransactionReceipt', [hash])) === null) await sleep(5)
  }

  it('leaves payments to sellers alone while books and open payments explain them', async () => {
    await weather(hub(), ada.apiKey)
    await weather(hub(), ada.apiKey, 'fault=took')
    await run()
    expect(await state()).to.equal(undefined)
  })

  it('pauses them when money left the spend wallet without our books knowing why', async () => {
    await drain(1_234n)
    await run()
    const paused = await state()
    expect(paused).to.include({ paused: true, author: 'reconciliation' })
    expect(paused?.reason).to.match(/^Exception \d+: \$0\.001234 went to 0x0+dead, and no/)
    const { body } = await weather(hub(), ada.apiKey)
    expect(body).to.include({ code: 'payments_paused', charged_microdollars: 0 })
    const { body: told } = await admin.ask(hub(), 'outgoing')
    expect(told).to.include({ paused: true, author: 'reconciliation' })
    expect(hub().logged()).to.match(/payments to sellers are paused: `npm run payments -- resume`/)
  })

  it('does not pause again for what a person has seen, and does for what is new', async () => {
    await resume()
    await run()
    expect(await state()).to.include({ paused: false, author: admin.wallet })
    expect(await weather(hub(), ada.apiKey)).to.have.property('status', 200)
    await drain(2n)
    await run()
    const again = await state()
    expect(again).to.include({ paused: true, author: 'reconciliation' })
    expect(again?.reason)
      .to.match(/^Exception \d+: \$0\.000002 went/)
      .and.not.match(/001234/)
  })

  it('pauses them also when it died between finding that and pausing', async () => {
    await resume()
    await drain(3n)
    await reconcile(ports())
    expect(await state()).to.include({ paused: false })
    await run()
    expect(await state()).to.include({ paused: true, author: 'reconciliation' })
  })

  it('pauses them after a restore from a backup, until books and chain have met', async () => {
    await resume()
    await hub().hub.pool.query(
      `INSERT INTO hub.reconciliation (wallet, address, from_block, to_block, block_hash,
         block_time, chain_balance, ledger_balance, transfers, matched, pending, exceptions, at)
       SELECT wallet, address, from_block, to_block, block_hash, block_time, chain_balance,
         ledger_balance, transfers, matched, pending, exceptions, at - interval '11 minutes'
       FROM hub.reconciliation WHERE wallet = 'spend' ORDER BY id DESC LIMIT 1`,
    )
    expect(await state()).to.include({ paused: true, author: 'reconciliation' })
    const { status, body } = await weather(hub(), ada.apiKey)
    expect([status, body['code']]).to.deep.equal([503, 'payments_paused'])
    await run()
    expect(await state()).to.include({ paused: false, author: admin.wallet })
    expect(await weather(hub(), ada.apiKey)).to.have.property('status', 200)
  })
})
