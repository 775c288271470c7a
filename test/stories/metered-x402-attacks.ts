import { randomBytes } from 'node:crypto'
import { PERMIT2_ADDRESS } from '@x402/evm'
import { expect } from 'chai'
import { parseAbi } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../core/money.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { openChain } from '../../core/payments/chain/chain.ts'
import { trustedNode } from '../../core/payments/chain/node.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestHub } from '../support/hub.ts'
import { signPayment } from './attacks/sign-payment.ts'
import { decode, encode, type MeteredPayer, type SignedPermit } from './metered-payer.ts'
import { MAX, type Step } from './metered-service.ts'

const say = (tokens: number, text: string): Step => ({ meter: tokens, send: text })
const PERMIT2 = parseAbi(['function invalidateUnorderedNonces(uint256 word, uint256 mask)'])
/** Default of HUB_X402_PREPAID_ABOVE. */
const PREPAID_ABOVE = usd('0.01')
const randomAddress = () => privateKeyToAccount(generatePrivateKey()).address

/** Payments of the scheme `upto` that are reused, altered, or made worthless by their payer. */
export function itResistsAttacks(hub: () => TestHub, payer: MeteredPayer): void {
  const { call, sign, spent, claims, resolve } = payer

  it('serves a payment once, however often it is sent, and for its own request', async () => {
    const steps = [say(30, 'a'), { waitMs: 100 }]
    const payment = encode(await sign('whole', steps))
    const all = await Promise.all(Array.from({ length: 8 }, () => call('whole', steps, payment)))
    expect(all.filter(({ status }) => status === 200)).to.have.length(1)
    expect(new Set(all.map(({ status }) => status))).to.deep.equal(new Set([200, 409]))
    const other = await call('whole', [say(300, 'a')], payment)
    expect(other.body).to.include({ code: 'payment_replayed' })
    const again = await call('whole', steps, payment)
    expect(again.headers).to.include({ 'idempotency-replayed': 'true' })
    expect(await spent()).to.equal(70n)
  })

  it('A301 refuses a permit for other terms than those of the offer', async () => {
    await payer.approve() // so that no permit of USDC is needed, which is judged as well
    const steps = [say(3, 'a')]
    const thief = randomAddress()
    const { payload, ...payment } = await sign('whole', steps)
    const { permit2Authorization: permit, signature } = payload
    const { witness, permitted } = permit
    const value = 'invalid_exact_evm_payload_authorization_value_mismatch'
    const refusals: [Partial<SignedPermit['permit2Authorization']>, string][] = [
      [{ permitted: { ...permitted, amount: String(MAX - 1n) } }, value],
      [{ permitted: { ...permitted, amount: String(MAX + 1n) } }, value],
      [{ permitted: { ...permitted, token: thief } }, 'permit2_token_mismatch'],
      [{ witness: { ...witness, to: thief } }, 'invalid_exact_evm_recipient_mismatch'],
      [{ witness: { ...witness, facilitator: thief } }, 'upto_facilitator_mismatch'],
      [{ witness: { ...witness, validAfter: '9999999999' } }, 'permit2_not_yet_valid'],
      [{ spender: thief }, 'invalid_permit2_spender'],
      [{ deadline: '1' }, 'invalid_exact_evm_payload_authorization_valid_before'],
      [{ deadline: '9999999999' }, 'authorization_lives_too_long'],
    ]
    const send = async (change: object, signed: Hex, reason: string) => {
      const permit2Authorization = { ...permit, ...change }
      const sent = { ...payment, payload: { signature: signed, permit2Authorization } }
      const { status, body } = await call('whole', steps, encode(sent))
      expect(status, reason).to.equal(402)
      expect(body, JSON.stringify(change)).to.include({ code: 'payment_invalid', reason })
    }
    for (const [change, reason] of refusals) {
      await send(change, await payer.signPermit({ ...permit, ...change }), reason)
    }
    for (const change of [
      { from: thief },
      { nonce: String(BigInt(permit.nonce) ^ 1n) },
      { deadline: String(BigInt(permit.deadline) + 1n) },
    ]) {
      await send(change, signature, 'invalid_permit2_signature')
    }
    for (const domain of [{ chainId: 1 }, { verifyingContract: thief }, { name: 'Permit3' }]) {
      await send({}, await payer.signPermit(permit, domain), 'invalid_permit2_signature')
    }
    for (const accepted of [
      { ...payment.accepted, scheme: 'exact', extra: {} },
      { ...payment.accepted, network: 'eip155:84532' as const },
      { ...payment.accepted, asset: thief },
      { ...payment.accepted, payTo: thief },
      { ...payment.accepted, amount: '1' },
    ]) {
      const { status, body } = await call('whole', steps, encode({ ...payment, payload, accepted }))
      expect([status, body['reason']], JSON.stringify(accepted)).to.deep.equal([
        402,
        'no_matching_payment_requirements',
      ])
    }
    expect(await spent()).to.equal(0n)
  })

  it('takes a permit and a transfer of one number for one payment', async () => {
    const steps = [say(30, 'a')]
    const payment = await sign('whole', steps)
    expect((await call('whole', steps, encode(payment))).status).to.equal(200)
    const { nonce } = payment.payload.permit2Authorization
    const fixed = (sent?: string) =>
      ask(hub().url, '/proxy/metered/fixed', {
        body: {},
        headers: sent === undefined ? {} : { 'payment-signature': sent },
      })
    const transfer = await signPayment(payer.account(), await fixed(), new Date(), {
      signed: { nonce: `0x${BigInt(nonce).toString(16).padStart(64, '0')}` },
    })
    expect((await fixed(transfer)).body).to.include({ code: 'payment_replayed' })
    expect(await spent()).to.equal(70n)
  })

  it('does not sell by a transfer of the maximum (scheme exact)', async () => {
    const steps = [say(30, 'a')]
    const offered = await call('whole', steps)
    const exact = await signPayment(payer.account(), offered, new Date())
    const { body } = await call('whole', steps, exact)
    expect(body).to.include({ code: 'payment_invalid', reason: 'unsupported_payload_type' })
    expect(await spent()).to.equal(0n)
  })

  it('accepts one payment for an identifier', async () => {
    const steps = [say(30, 'a')]
    const id = randomBytes(16).toString('hex')
    const named = async () => {
      const payment = await sign('whole', steps)
      const extensions = {
        ...payment.extensions,
        'payment-identifier': { info: { required: false, id } },
      }
      return encode({ ...payment, extensions })
    }
    const [first, second] = [await named(), await named()]
    expect((await call('whole', steps, first)).status).to.equal(200)
    const { status, body } = await call('whole', steps, second)
    expect([status, body['code']]).to.deep.equal([409, 'payment_identifier_reused'])
    expect((await call('whole', steps, first)).headers).to.include({
      'idempotency-replayed': 'true',
    })
    expect(await spent()).to.equal(70n)
  })

  it('accepts one permit of USDC at a time, and the next one after it', async () => {
    const steps = [say(30, 'a'), { waitMs: 300 }]
    const payments = [await sign('whole', steps), await sign('stream', steps)]
    const [whole, stream] = payments.map(encode)
    const responses = await Promise.all([
      call('whole', steps, whole),
      call('stream', steps, stream),
    ])
    const refused = responses.find(({ status }) => status !== 200)
    expect(responses.map(({ status }) => status)).to.have.members([200, 402])
    expect(refused?.body).to.include({ code: 'payment_invalid', reason: 'approval_in_use' })
    expect(refused?.body['charged_microdollars']).to.equal(0)
    const next = await call('whole', steps, encode(await sign('whole', steps)))
    expect(next.status).to.equal(200)
    expect(await spent()).to.equal(140n)
  })

  it('refuses a permit of USDC that expires before the payment', async () => {
    const steps = [say(30, 'a')]
    const payment = await sign('whole', steps)
    const extensions = payment.extensions as { eip2612GasSponsoring: { info: object } }
    const soon = String(Math.floor(Date.now() / 1_000) + 10)
    const info = { ...extensions.eip2612GasSponsoring.info, deadline: soon }
    const sent = { ...payment, extensions: { ...extensions, eip2612GasSponsoring: { info } } }
    const { body } = await call('whole', steps, encode(sent))
    expect(body).to.include({ reason: 'eip2612_deadline_expired' })
    expect(await spent()).to.equal(0n)
  })

  it('settles the usage of a wallet that holds no second maximum', async () => {
    const poor = await payer.createAccount(MAX)
    await payer.approve(poor)
    const steps = [say(30, 'a'), { waitMs: 300 }]
    const payments = [await sign('whole', steps, poor), await sign('whole', steps, poor)]
    const responses = await Promise.all(payments.map((each) => call('whole', steps, encode(each))))
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 200])
    expect(await spent(poor, MAX)).to.equal(140n)
  })

  it('A304 lets a wallet owe for calls in flight what it has paid at once, or little', async () => {
    await payer.approve()
    const steps = [say(30, 'a'), { waitMs: 1_000 }]
    const limit = Number(PREPAID_ABOVE / MAX)
    const use = async (count: number) => {
      const payments: string[] = []
      for (let i = 0; i < count; i++) payments.push(encode(await sign('whole', steps)))
      const responses = await Promise.all(payments.map((payment) => call('whole', steps, payment)))
      return { payments, responses, served: responses.filter(({ status }) => status === 200) }
    }
    const { payments, responses, served } = await use(limit + 3)
    expect(served).to.have.length(limit)
    const refused = responses.findIndex(({ status }) => status !== 200)
    expect(responses[refused]!.body).to.include({
      code: 'payment_invalid',
      reason: 'too_much_owed',
    })
    expect(responses[refused]!.body['charged_microdollars']).to.equal(0)
    const again = await call('whole', steps, payments[refused])
    expect(again.status).to.equal(200)
    expect(await spent()).to.equal(70n * BigInt(limit + 1))
  })

  it('does not count payments that their wallet has not signed', async () => {
    await payer.approve()
    const steps = [say(30, 'a')]
    const { payload, ...payment } = await sign('whole', steps)
    const { permit2Authorization: permit } = payload
    const forged = Array.from({ length: 20 }, (_, i) => {
      const permit2Authorization = {
        ...permit,
        nonce: String(BigInt(permit.nonce) ^ BigInt(i + 1)),
      }
      return encode({ ...payment, payload: { ...payload, permit2Authorization } })
    })
    const sent = forged.map((each) => call('whole', steps, each))
    const own = await call('whole', steps, encode({ ...payment, payload }))
    const reasons = (await Promise.all(sent)).map(({ body }) => body['reason'])
    expect(new Set(reasons)).to.deep.equal(new Set(['invalid_permit2_signature']))
    expect(own.status).to.equal(200)
  })

  it('finds a known settlement without searching the log', async () => {
    const steps = [say(30, 'a')]
    const payment = await sign('whole', steps)
    const { headers } = await call('whole', steps, encode(payment))
    const { transaction: tx } = decode(headers['payment-response'])
    const { rpcUrl } = hub().sandbox!
    const rpcMethods: string[] = []
    const chain = openChain({
      rpcUrl,
      network: USDC_BASE.network,
      transport: (options) => {
        const onFetchRequest = async (request: Request) => {
          rpcMethods.push(((await request.json()) as { method: string }).method)
        }
        return trustedNode(rpcUrl)({ ...options, onFetchRequest })
      },
    })
    const { nonce, witness } = payment.payload.permit2Authorization
    const permit = {
      owner: payer.account().address,
      payTo: witness.to,
      nonce: `0x${BigInt(nonce).toString(16).padStart(64, '0')}`,
      value: 70n,
    } as const
    expect(await chain.permitOutcome({ ...permit, tx }, 0n)).to.include({
      outcome: 'used',
      value: 70n,
    })
    expect(rpcMethods).not.to.include('eth_getLogs').and.not.to.include('eth_call')
    const other = `0x${'1'.repeat(64)}` as const
    const found = await chain.permitOutcome({ ...permit, tx: other }, 0n)
    expect(found).to.include({ outcome: 'used', tx, value: 70n })
    expect(rpcMethods).to.include('eth_getLogs')
  })

  it('A303 charges nothing for a permit whose number its payer uses otherwise', async () => {
    const wallet = await payer.walletOf(payer.account())
    await payer.approve()
    const steps = [say(30, 'a'), { waitMs: 600 }]
    const spend = async (nonce: string) => {
      const [word, bit] = [BigInt(nonce) >> 8n, BigInt(nonce) & 255n]
      await wallet.writeContract({
        address: PERMIT2_ADDRESS,
        abi: PERMIT2,
        functionName: 'invalidateUnorderedNonces',
        args: [word, 1n << bit],
      })
    }
    const payments = [await sign('whole', steps), await sign('whole', steps)]
    const [early, late] = payments.map(({ payload }) => payload.permit2Authorization)
    await spend(early!.nonce)
    const refused = await call('whole', steps, encode(payments[0]!))
    expect(refused.body).to.include({ reason: 'permit2_simulation_failed' })
    const working = call('whole', steps, encode(payments[1]!))
    await eventually(async () => (await claims()).some(({ state }) => state === 'claimed'))
    await spend(late!.nonce)
    const failed = await working
    expect([failed.status, failed.body['reason']]).to.deep.equal([402, 'permit2_simulation_failed'])
    expect(failed.body['charged_microdollars']).to.equal(0)
    const { chain } = hub().hub.paymentDeps
    const permit = {
      owner: payer.account().address,
      payTo: late!.witness.to,
      nonce: `0x${BigInt(late!.nonce).toString(16).padStart(64, '0')}`,
      value: 70n,
    } as const
    expect(await chain.permitOutcome(permit, 0n)).to.include({ outcome: 'spent' })
    // Its next payment would have to come before the work, which a metered price cannot.
    const next = await call('whole', steps, encode(await sign('whole', steps)))
    expect(next.body).to.include({ code: 'payment_invalid', reason: 'credits_required' })
    expect(next.body['advice']).to.match(/buy credits/)
    await resolve()
    expect(await spent()).to.equal(0n)
  })
}
