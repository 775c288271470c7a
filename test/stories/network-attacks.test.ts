import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '../../core/clock.ts'
import { assetOf, USDC_BASE } from '../../core/payments/chain/asset.ts'
import {
  type Facilitator,
  FacilitatorUnavailable,
} from '../../core/payments/facilitators/facilitator.ts'
import { resolveNetworkPayments, resolvePayments } from '../../core/payments/operations/resolve.ts'
import { newId } from '../core/ledger/fixture.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { freshDatabase } from '../support/postgres.ts'
import { useHub } from '../support/suite.ts'
import { flawsOf, signPayment } from './attacks/sign-payment.ts'
import {
  NETWORKS,
  POLYGON,
  PRICE,
  payloadOn,
  payOn,
  requiredOf,
  resolveOn,
  send,
  side,
  signTransfer,
  termsOn,
  timesDone,
  works,
} from './two-networks.ts'

type Writable<T> = { -readonly [K in keyof T]: T[K] }

describe('attacks on a hub on two networks', () => {
  const hub = useHub({ plugins: [works], config: NETWORKS })
  const base = side(hub, USDC_BASE)
  const polygon = side(hub, POLYGON)
  let eve: PrivateKeyAccount
  let doneBefore = 0
  const done = () => timesDone() - doneBefore
  beforeEach(async () => {
    doneBefore = timesDone()
    eve = privateKeyToAccount(generatePrivateKey())
    await base.fund(eve)
    await polygon.fund(eve)
  })
  const resolve = () => resolveOn(hub())

  it('takes one nonce on each network as two payments', async () => {
    const offered = await send(hub())
    const onBase = await payloadOn(eve, offered, USDC_BASE)
    const { nonce } = (onBase.payload as { authorization: { nonce: string } }).authorization
    const onPolygon = await payloadOn(eve, offered, POLYGON)
    const { authorization } = onPolygon.payload as { authorization: Record<string, string> }
    const message = { ...authorization, nonce }
    const signature = await signTransfer(eve, POLYGON, message)
    const same = { ...onPolygon, payload: { signature, authorization: message } }
    const answers = [
      await send(hub(), encodePaymentSignatureHeader(onBase)),
      await send(hub(), encodePaymentSignatureHeader(same)),
    ]
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
    expect(done()).to.equal(2)
    for (const network of [base, polygon])
      expect(await network.chain().balanceOf(eve.address)).to.equal(usd('10') - PRICE)
    await resolve()
  })

  for (const [from, to] of [
    [USDC_BASE, POLYGON],
    [POLYGON, USDC_BASE],
  ] as const) {
    it(`refuses a signature for ${from.v1Network} as a payment on ${to.v1Network}`, async () => {
      const offered = await send(hub())
      const payload = await payloadOn(eve, offered, from)
      const moved = { ...payload, accepted: termsOn(requiredOf(offered), to) }
      const books = [await base.books(), await polygon.books()]
      expect(await send(hub(), encodePaymentSignatureHeader(moved))).to.have.property('status', 402)
      expect(done()).to.equal(0)
      expect([await base.books(), await polygon.books()]).to.deep.equal(books)
      const own = await send(hub(), encodePaymentSignatureHeader(payload))
      expect(own, 'the payment still pays where it was signed for').to.have.property('status', 200)
      const again = await send(hub(), encodePaymentSignatureHeader(moved))
      expect(again.status).to.equal(402)
      expect(done()).to.equal(1)
      for (const [asset, network] of [
        [USDC_BASE, base],
        [POLYGON, polygon],
      ] as const) {
        const left = usd('10') - (asset === from ? PRICE : 0n)
        expect(await network.chain().balanceOf(eve.address)).to.equal(left)
      }
      await resolve()
    })
  }

  const usdc = () => polygon.chain().balanceOf(eve.address)
  const buyCredits = (key: string, payment?: string) =>
    ask(hub().url, '/v1/credits/purchase', {
      key,
      body: { amount_microdollars: Number(usd('5')) },
      headers: payment === undefined ? {} : { 'payment-signature': payment },
    })

  it('A079, A080 takes a payment on the second one once, for its own request', async () => {
    const ada = await hub().agent()
    const payment = await payOn(eve, await send(hub()), POLYGON)
    const responses = await Promise.all(Array.from({ length: 8 }, () => send(hub(), payment)))
    const codes = responses.map(({ status, body }) => (status === 200 ? status : body['code']))
    expect(codes.filter((code) => code !== 200 && code !== 'payment_in_progress')).to.have.length(0)
    const other = await buyCredits(ada.apiKey, payment)
    expect([other.status, other.body['code']]).to.deep.equal([402, 'payment_replayed'])
    expect([done(), await usdc()]).to.deep.equal([1, usd('10') - PRICE])
    await resolve()
  })

  for (const [title, flaw] of flawsOf(PRICE)) {
    it(`A081 refuses a payment on the second one that has ${title}`, async () => {
      const books = await polygon.books()
      const payment = await signPayment(eve, await send(hub()), systemClock.now(), flaw, POLYGON)
      const refused = await send(hub(), payment)
      expect([refused.status, refused.body['code']]).to.deep.equal([402, 'payment_invalid'])
      expect([done(), await usdc(), await polygon.books()]).to.deep.equal([0, usd('10'), books])
    })
  }

  it('A082 delivers a payment on the second one whose settlement got no response', async () => {
    const facilitator: Writable<Facilitator> = hub().sandbox!.money.networks[0]!.facilitator
    facilitator.batched = {
      verify: (...payment) => facilitator.verify(...payment),
      async settle(...payment) {
        delete facilitator.batched
        await facilitator.settle(...payment)
        throw new FacilitatorUnavailable('no response')
      },
    }
    const payment = await payOn(eve, await send(hub()), POLYGON)
    const response = await send(hub(), payment)
    expect([response.status, response.body['code']]).to.deep.equal([202, 'payment_pending'])
    expect(response.headers).not.to.have.property('payment-required')
    await eventually(async () => (await send(hub(), payment)).status === 200)
    expect([done(), await usdc()]).to.deep.equal([1, usd('10') - PRICE])
    await resolve()
  })

  it('refuses a payment on a network that it does not sell on', async () => {
    const offered = await send(hub())
    const payload = await payloadOn(eve, offered, POLYGON)
    const optimism = assetOf('eip155:10')
    const accepted = { ...payload.accepted, network: optimism.network, asset: optimism.address }
    const moved = encodePaymentSignatureHeader({ ...payload, accepted })
    expect(await send(hub(), moved)).to.have.property('status', 402)
    expect(done()).to.equal(0)
  })

  it('keeps selling on Base while the node of the second one hangs', async () => {
    const file = join(hub().dataDir, 'chain-polygon', 'chain.pid')
    const pid = Number((await readFile(file, 'utf8')).split(' ')[0])
    const offered = await send(hub())
    const [onBase, onPolygon] = [
      await payOn(eve, offered, USDC_BASE),
      await payOn(eve, offered, POLYGON),
    ]
    const books = await polygon.books()
    process.kill(pid, 'SIGSTOP')
    try {
      const hanging = send(hub(), onPolygon)
      const startedAt = performance.now()
      expect(await send(hub(), onBase)).to.have.property('status', 200)
      await eventually(async () => (await resolvePayments(hub().hub.paymentDeps, 0)) === 0)
      expect(performance.now() - startedAt, 'milliseconds').to.be.below(5_000)
      const { status, body } = await hanging
      expect([status, body['code']]).to.deep.equal([503, 'facilitator_unavailable'])
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    expect(await polygon.books()).to.deep.equal(books)
    await eventually(async () => (await send(hub(), onPolygon)).status === 200)
    expect(done()).to.equal(2)
    expect(await polygon.chain().balanceOf(eve.address)).to.equal(usd('10') - PRICE)
    const without = { ...hub().hub.paymentDeps, networks: [] }
    expect(await resolveNetworkPayments(without, 0), 'not configured any more').to.equal(0)
    expect((await polygon.books())[0]).to.equal(books[0] + PRICE)
    await resolve()
    expect((await polygon.books())[0], 'configured again').to.equal(0n)
  })
})

describe('a reorganization of one of two networks', () => {
  const hub = useHub({ plugins: [works], config: NETWORKS })
  const [base, polygon] = [side(hub, USDC_BASE), side(hub, POLYGON)]

  it('reverses a payment that only the second one has forgotten', async () => {
    const eve = privateKeyToAccount(generatePrivateKey())
    await base.fund(eve)
    await polygon.fund(eve)
    const snapshot = await polygon.rpc('evm_snapshot')
    const [onBase, onPolygon] = [await base.books(), await polygon.books()]
    const loss = await hub().hub.ledger.balance('expenses:x402-loss')
    const offered = await send(hub())
    expect(await send(hub(), await payOn(eve, offered, USDC_BASE))).to.have.property('status', 200)
    expect(await send(hub(), await payOn(eve, offered, POLYGON))).to.have.property('status', 200)
    expect((await polygon.books())[0]).to.equal(PRICE)
    expect(await polygon.rpc('evm_revert', snapshot)).to.equal(true)
    await polygon.rpc('evm_increaseTime', 900)
    await polygon.rpc('evm_mine')
    await resolveOn(hub())
    expect(await polygon.books()).to.deep.equal(onPolygon)
    expect(await base.books()).to.deep.equal([0n, onBase[1] + PRICE])
    const lost = loss - (await hub().hub.ledger.balance('expenses:x402-loss'))
    expect(lost, 'the loss is of the platform').to.equal(PRICE)
    const { chain, ledger, exceptions } = await polygon.reconcile()
    expect(chain).to.equal(ledger)
    expect(exceptions.map(({ amount }) => amount)).to.have.members([0n - PRICE, PRICE])
  })
})

describe('payments on a network that was removed', () => {
  const hub = useHub(async () => {
    const database = await freshDatabase()
    await database.admin.query(
      `INSERT INTO hub.payment_claim (network, asset, payer, nonce, id, purpose, pay_to, payee,
         commission_bps, request_hash, amount, state, valid_before)
       VALUES ($1, $2, $3, $4, $5, 'call', $3, 'income:services:works', 0, '\\x00', 5, 'settled',
         now() - interval '1 hour')`,
      [
        POLYGON.network,
        POLYGON.address.toLowerCase(),
        `0x${'5'.repeat(40)}`,
        `0x${'6'.repeat(64)}`,
        newId(),
      ],
    )
    return { plugins: [works], database }
  })

  it('stay open, are never judged by the chain of Base, and are reported', async () => {
    expect(hub().logged()).to.contain('payments stay open: HUB_X402_NETWORKS omits their network')
    expect(requiredOf(await send(hub())).accepts).to.have.length(1)
    await resolveOn(hub())
    const { rows } = await hub().hub.pool.query('SELECT state FROM hub.payment_claim')
    expect(rows).to.deep.equal([{ state: 'settled' }])
  })
})
