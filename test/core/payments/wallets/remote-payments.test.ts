import { secp256k1 } from '@noble/curves/secp256k1'
import { expect } from 'chai'
import { createLog } from '../../../../core/log.ts'
import { micros, usd } from '../../../../core/money.ts'
import type { Hex } from '../../../../core/payments/chain/asset.ts'
import { OutgoingSwitch } from '../../../../core/payments/operations/outgoing-switch.ts'
import type { PayoutDeps } from '../../../../core/payments/payouts/payout.ts'
import { sendPayouts } from '../../../../core/payments/payouts/send.ts'
import { startPayouts } from '../../../../core/payments/payouts/start.ts'
import { createOffers } from '../../../../core/payments/receiving/offers.ts'
import {
  checkEnvironmentKeys,
  findExcessBalances,
} from '../../../../core/payments/wallets/environment-keys.ts'
import {
  type RemoteSigner,
  remoteAccount,
} from '../../../../core/payments/wallets/remote-account.ts'
import { web3Signer } from '../../../../core/payments/wallets/web3signer.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { prepare, shop } from '../facilitators/fixture.ts'
import { type PayoutFixture, startPayoutFixture } from '../payouts/fixture.ts'
import { NETWORK, type Stack, startStack } from '../stack.ts'
import { type SignerFault, type SignerServer, serveWeb3Signer } from './signer-servers.ts'

describe('a gas wallet with a remote signer', () => {
  let stack: Stack
  let database: FreshDatabase
  let server: SignerServer
  before(async () => {
    ;[stack, database] = await Promise.all([startStack(), freshDatabase()])
    server = await serveWeb3Signer(stack.wallets.gas.key)
  })
  after(async () => {
    server.close()
    await database.drop()
    await stack.stop()
  })

  const offersWith = () => {
    const { address } = stack.wallets.gas.account
    const key = remoteAccount(address, web3Signer({ url: server.url, timeoutMs: 300 }))
    return shop(stack, stack.facilitatorWith({ key, pool: database.pool }))
  }
  const sent = async () =>
    (await database.pool.query('SELECT hash FROM hub.sent_transaction')).rowCount

  it('settles payments', async () => {
    expect((await offersWith().settle(...(await prepare(stack)))).outcome).to.equal('settled')
    expect(await sent()).to.equal(1)
  })

  const faults: readonly SignerFault[] = ['slow', 'refuses', 'garbage', 'hangs up', 'other key']
  for (const fault of faults) {
    it(`A185 sends nothing if the signer fails by: ${fault}, and settles once later`, async () => {
      const payment = await prepare(stack)
      const count = await sent()
      const balance = await stack.chain.balanceOf(stack.payTo)
      server.fault = fault
      const failed = await offersWith().settle(...payment)
      expect(failed.outcome).to.equal('failed')
      expect(await sent(), 'no transaction').to.equal(count)
      expect(await stack.chain.balanceOf(stack.payTo)).to.equal(balance)
      server.fault = 'none'
      const [one, two] = await Promise.all([
        offersWith().settle(...payment),
        offersWith().settle(...payment),
      ])
      expect([one.outcome, two.outcome]).to.include('settled')
      expect(await stack.chain.balanceOf(stack.payTo)).to.equal(balance + BigInt(payment[1].amount))
    })
  }
})

describe('payouts from a spend wallet with a remote signer', () => {
  let world: PayoutFixture
  let server: SignerServer
  before(async () => {
    world = await startPayoutFixture()
    server = await serveWeb3Signer(world.stack.wallets.spend.key)
  })
  after(async () => {
    server.close()
    await world.stop()
  })

  for (const fault of ['slow', 'refuses', 'other payment'] as const) {
    it(`A185 wait while the signer fails by: ${fault}, and are paid once after that`, async () => {
      const provider = await world.provider(`p-${fault.replace(' ', '-')}`)
      await world.earn(provider.accounts[0]!, 5_000_000n)
      // Each run opens the wallet anew, as after a restart.
      const pay = async () => {
        const signer = web3Signer({ url: server.url, timeoutMs: 300 })
        const ports = { ...world.ports, account: remoteAccount(world.spend, signer) }
        await startPayouts(ports)
        await sendPayouts(ports, undefined, 0)
      }
      const state = async () => {
        const sql = 'SELECT state FROM hub.payout WHERE provider = $1'
        const { rows } = await world.pool.query<{ state: string }>(sql, [provider.id])
        return [rows.map((row) => row.state).join(), await world.chain.balanceOf(provider.address)]
      }
      server.fault = fault
      await pay()
      await pay()
      expect(await state()).to.deep.equal(['started', 0n])
      server.fault = 'none'
      await Promise.all([pay(), pay()])
      await pay()
      expect(await state()).to.deep.equal(['confirmed', 5_000_000n])
    })
  }

  it('are sent once if a new process signs one again before its transaction is mined', async () => {
    const { stack, ports, pool, chain } = world
    const provider = await world.provider('p-restart')
    await world.earn(provider.accounts[0]!, 5_000_000n)
    const signatures = new Set<string>()
    /** Sends as a new process with a signer that, like AWS KMS, never signs the same twice. */
    const pay = async () => {
      const account = remoteAccount(world.spend, randomSigner(stack.wallets.spend.key))
      const facilitator = stack.facilitatorWith({ pool, confirmationTimeoutMs: 200 })
      const offers = createOffers({ facilitator, payTo: stack.payTo, network: NETWORK })
      const settle: PayoutDeps['settle'] = (payment, accepted) => {
        signatures.add(payment.payload.signature)
        return offers.settle(payment, accepted)
      }
      await sendPayouts({ ...ports, account, settle }, undefined, 0)
    }
    const sent = async () => {
      const sql = 'SELECT hash FROM hub.sent_transaction WHERE mined_at IS NULL'
      return (await pool.query<{ hash: Hex }>(sql)).rows.map(({ hash }) => hash)
    }
    const before = await sent()
    await startPayouts(ports)
    await stack.rpc('evm_setIntervalMining', 0)
    await stack.rpc('evm_setAutomine', false)
    await pay()
    const [first, ...more] = (await sent()).filter((hash) => !before.includes(hash))
    expect(more).to.deep.equal([])
    await stack.rpc('anvil_dropTransaction', first) // as a node does not know those of another
    await pay()
    expect(signatures.size).to.equal(2)
    expect(await sent()).to.have.members([...before, first!])
    await stack.rpc('evm_setAutomine', true)
    await stack.rpc('anvil_mine')
    await pay()
    expect(await chain.balanceOf(provider.address)).to.equal(5_000_000n)
    const sql = 'SELECT state FROM hub.payout WHERE provider = $1'
    const { rows } = await pool.query<{ state: string }>(sql, [provider.id])
    expect(rows).to.deep.equal([{ state: 'confirmed' }])
  })
})

/** Signer that adds entropy to each signature. */
const randomSigner = (key: Hex): RemoteSigner => {
  const sign = async (hash: Hex) =>
    secp256k1.sign(hash.slice(2), key.slice(2), { extraEntropy: true, lowS: false })
  return {
    assertKey: async () => {},
    signTypedData: (_, _data, hash) => sign(hash),
    signTransaction: (_, _transaction, hash) => sign(hash),
  }
}

describe('a wallet key in the environment', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  const spend = `0x${'5'.repeat(40)}` as const
  const gas = { address: `0x${'6'.repeat(40)}` as const, balance: async () => 10n ** 18n } as never
  const keys = { limit: usd('1000'), spend, gas, ethPrice: usd('3000') }
  const chainWith = (amount: bigint) => ({ balanceOf: async () => amount })

  it('A183 may protect a wallet up to the limit only', async () => {
    const found = async (amount: bigint, more: object = {}) =>
      (await findExcessBalances({ ...keys, ...more }, chainWith(amount))).map(
        ({ wallet }) => wallet,
      )
    expect(await found(usd('1000'))).to.deep.equal(['gas'])
    expect(await found(micros(usd('1000') + 1n))).to.deep.equal(['spend', 'gas'])
    expect(await found(usd('1000'), { ethPrice: usd('999') })).to.deep.equal([])
    expect(await found(usd('9999'), { spend: undefined, gas: undefined })).to.deep.equal([])
  })

  it('A183 pauses outgoing payments and raises the alarm above the limit', async () => {
    const { pool } = database
    const lines: string[] = []
    const log = createLog('error', { write: (line) => lines.push(line) })
    const deps = { environmentKeys: { ...keys, gas: undefined }, pool, log }
    await checkEnvironmentKeys({ ...deps, chain: chainWith(usd('999')) })
    expect([(await new OutgoingSwitch(pool).state())?.paused, lines.length]).to.deep.equal([
      undefined,
      0,
    ])
    await checkEnvironmentKeys({ ...deps, chain: chainWith(usd('1000.5')) })
    const { paused, author, reason } = (await new OutgoingSwitch(pool).state())!
    expect({ paused, author }).to.deep.equal({ paused: true, author: 'check-wallet-keys' })
    expect(reason).to.include('The spend wallet holds $1000.50').and.to.include('HUB_ENV_KEY_MAX')
    expect(lines).to.have.lengthOf(1)
  })
})
