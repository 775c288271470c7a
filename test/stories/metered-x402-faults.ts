import { expect } from 'chai'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import type { Claim } from '../../core/payments/receiving/claim.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestHub } from '../support/hub.ts'
import { claimsOf } from '../support/receipt-claims.ts'
import { decode, encode, type MeteredPayer } from './metered-payer.ts'
import type { Step } from './metered-service.ts'

const say = (tokens: number, text: string): Step => ({ meter: tokens, send: text })
type Writable<T> = { -readonly [K in keyof T]: T[K] }
type Settle = NonNullable<Facilitator['batched']>['settle']

/** Processes that die and nodes that fail while a payment of the scheme `upto` is settled. */
export function itSurvivesFaults(hub: () => TestHub, payer: MeteredPayer): void {
  const { call, sign, spent, claims, resolve } = payer
  const sql = (text: string, id: unknown) => hub().database.admin.query(text, [id])
  const facilitator = (): Writable<Facilitator> => hub().sandbox!.money.facilitator
  /** Replaces the settlement by the facilitator during `work`. */
  async function settlingBy<T>(settle: (real: Settle) => Settle, work: () => Promise<T>) {
    const batched = facilitator().batched!
    facilitator().batched = { ...batched, settle: settle(batched.settle) }
    try {
      return await work()
    } finally {
      facilitator().batched = batched
    }
  }
  const notBroadcast = async () => ({
    success: false as const,
    errorReason: 'not_broadcast',
    transaction: '',
    network: 'eip155:8453' as const,
  })

  it('A302 never takes more than a settlement began with', async () => {
    const steps = [say(30, 'a')]
    const payment = encode(await sign('whole', steps))
    await call('whole', steps, payment)
    const [claim] = await claims()
    for (const change of [
      'amount = amount + 1',
      'amount = amount - 1',
      'amount = authorized',
      'authorized = 10000',
      'authorized = NULL',
      'settling = false',
    ]) {
      const raised = sql(`UPDATE hub.payment_claim SET ${change} WHERE id = $1`, claim!['id'])
      const reason = await raised.then(() => '', String)
      expect(reason, change).to.contain('is final')
    }
    // As if the process had died between the settlement and its entry.
    await sql(
      `WITH kept AS (DELETE FROM hub.kept_answer WHERE id = $1)
       UPDATE hub.payment_claim SET state = 'claimed', transaction = NULL, delivered_at = NULL,
         process = gen_random_uuid() WHERE id = $1`,
      claim!['id'],
    )
    const repeated = await call('whole', [...steps], payment)
    expect(repeated.body).to.include({ code: 'payment_pending' })
    await resolve()
    expect((await claims())[0]).to.include({ state: 'confirmed', amount: 70n })
    expect(await spent()).to.equal(70n)
  })

  it('is not reversed by a job that read its claim before the settlement began', async () => {
    const steps = [say(30, 'b')]
    const payment = encode(await sign('whole', steps))
    const deps = hub().hub.paymentDeps
    await call('whole', steps, payment)
    const payers = payer.account().address.toLowerCase()
    const taken = await deps.claims.takeUnfinished(0, 1_000, deps.asset.network)
    const claim = taken.find(({ key }) => key.payer === payers)!
    const early: Claim = { ...claim, amount: claim.authorized!, state: 'claimed' }
    deps.claims.takeUnfinished = async () => [early]
    const open = await resolvePayments(deps, 0).finally(() =>
      Reflect.deleteProperty(deps.claims, 'takeUnfinished'),
    )
    expect(open).to.equal(1)
    expect((await claims())[0]).to.include({ state: 'settled', amount: 70n })
    await resolve()
    expect((await claims())[0]).to.include({ state: 'confirmed', amount: 70n })
  })

  /** Sends a request whose process is gone once it has begun the settlement. */
  async function loseBegun<T>(send: () => Promise<T>) {
    const began = Promise.withResolvers<void>()
    const resumed = Promise.withResolvers<void>()
    const paused = (real: Settle): Settle => {
      return async (...args) => {
        began.resolve()
        await resumed.promise
        return real(...args)
      }
    }
    const { answer } = await settlingBy(paused, async () => {
      const answer = send()
      await began.promise
      return { answer }
    })
    const [claim] = await claims()
    expect(claim).to.include({ state: 'claimed', amount: 70n })
    await sql(
      `WITH attempts AS (UPDATE hub.idempotent_call SET process = gen_random_uuid() WHERE NOT done)
       UPDATE hub.payment_claim SET process = gen_random_uuid() WHERE id = $1`,
      claim!['id'],
    )
    return async () => {
      resumed.resolve()
      await answer
    }
  }

  it('continues a settlement that was not sent, for its amount and without the work', async () => {
    const steps = [say(30, `${Math.random()}`)]
    const payment = encode(await sign('whole', steps))
    const resume = await loseBegun(() => call('whole', steps, payment))
    const again = await call('whole', steps, payment)
    expect([again.status, again.headers['idempotency-replayed']]).to.deep.equal([200, 'true'])
    expect(decode(again.headers['payment-response'])).to.include({ amount: '70' })
    expect(again.headers).to.include({ 'x-charged-microdollars': '0' })
    await resolve()
    await resume()
    expect((await claims())[0]).to.include({ state: 'confirmed', amount: 70n })
    expect(await spent()).to.equal(70n)
  })

  it('reports the same charge for its Idempotency-Key after two processes have died', async () => {
    const { apiKey } = await hub().agent()
    const steps = [say(30, `${Math.random()}`)]
    const signature = { 'payment-signature': encode(await sign('whole', steps)) }
    const send = (more: Record<string, string> = {}) => {
      const headers = { 'idempotency-key': 'upto', ...more }
      return ask(hub().url, '/proxy/metered/whole', { key: apiKey, body: { steps }, headers })
    }
    const resume = await loseBegun(() => send(signature))
    const again = await send(signature)
    expect([again.status, again.headers['idempotency-replayed']]).to.deep.equal([200, 'true'])
    // As if the second process had died before it marked the key as charged.
    await sql(
      `UPDATE hub.idempotent_call SET done = false, process = gen_random_uuid()
       WHERE EXISTS (SELECT FROM hub.payment_claim WHERE id = $1)`,
      (await claims())[0]!['id'],
    )
    const third = await send()
    for (const { headers, text } of [again, third]) {
      expect(text).to.equal(again.text)
      expect(headers).to.include({ 'x-charged-earlier-microdollars': '70' })
      expect(claimsOf(headers['x-receipt'])).to.include({
        source: 'x402',
        charged_microdollars: 70,
      })
    }
    await resume()
    await resolve()
    expect(await spent()).to.equal(70n)
  })

  it('settles a stream that was read, as soon as the node accepts transactions again', async () => {
    const steps = [say(30, 'a')]
    const payment = encode(await sign('stream', steps))
    let failures = 0
    const failing = (real: Settle): Settle => {
      return (...args) => (failures++ === 0 ? notBroadcast() : real(...args))
    }
    const { status, text } = await settlingBy(failing, () => call('stream', steps, payment))
    expect([status, text, failures]).to.deep.equal([200, 'a', 2])
    expect(await spent()).to.equal(70n)
  })

  it('releases a payment that could not be sent, which then pays for another attempt', async () => {
    const steps = [say(30, 'a')]
    const payment = encode(await sign('whole', steps))
    const { status, body } = await settlingBy(
      () => notBroadcast,
      () => call('whole', steps, payment),
    )
    expect([status, body['code']]).to.deep.equal([503, 'facilitator_unavailable'])
    expect(body['charged_microdollars']).to.equal(0)
    expect((await claims())[0]).to.include({ state: 'released' })
    expect((await call('whole', steps, payment)).status).to.equal(200)
    expect(await spent()).to.equal(70n)
  })

  it('posts a payment whose settlement gave no answer when the chain shows it', async () => {
    const steps = [say(30, 'a')]
    const payment = encode(await sign('whole', steps))
    const lost = (real: Settle): Settle => {
      return async (...args) => {
        await real(...args)
        throw new Error('connection lost')
      }
    }
    const { status, body } = await settlingBy(lost, () => call('whole', steps, payment))
    expect([status, body['code']]).to.deep.equal([202, 'payment_pending'])
    await eventually(async () => (await call('whole', steps, payment)).status === 200)
    await resolve()
    expect((await claims())[0]).to.include({ state: 'confirmed', amount: 70n })
    expect(await spent()).to.equal(70n)
  })
}
