import { expect } from 'chai'
import { HubError } from '../../core/client/index.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { usd } from '../../core/money.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'
import { paying } from './payments.ts'
import { result, tell, type Verb } from './table.ts'

/** `asks GET /weather?fault=late max 0.005000`: calls the sample seller through the hub. */
const asks: Verb = async ({ hub, actor }, who, rest) => {
  const [, method = '', path = '', max] = /^(\w+) (\S+)(?: max (\S+))?$/.exec(rest) ?? []
  const url = path.startsWith('/') ? `${hub.sandbox!.sellerUrl}${path}` : path
  const headers: Record<string, string> = max ? { 'x-max-price': String(usd(max)) } : {}
  const body = { url, method, ...(method === 'POST' ? { body: 'hello' } : {}) }
  const sent = actor(who).client.send('/proxy/external', { method: 'POST', body, headers })
  return [await result(sent)]
}

describe('story: an external call, paid from credits', () => {
  const verbs = { asks, ...paying() }
  const hub = useHub()
  let patient: TestAgent
  let hanging: Promise<unknown>
  before(async () => {
    patient = await hub().agent()
    await hub().credit(patient.keyId, usd('0.01'))
    const url = `${hub().sandbox!.sellerUrl}/weather?fault=hang`
    hanging = patient.client.external({ url }).catch((error: unknown) => error)
  })

  it('costs exactly the price of the seller', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has       1.000000
      ada  asks      GET /weather?city=Oslo   => credits  ada 0.990000  commission 0.000000
      ada  asks      POST /shout              => credits  ada 0.988000
      ada  asks      GET /weather?fault=v1    => credits  ada 0.978000
      ada  asks      GET /weather max 0.009999  => 402 price_exceeds_max  ada 0.978000
      ada  asks      GET /weather max 0.010000  => credits  ada 0.968000
      hub  resolves  payments but 1           => ada 0.968000  spent 0.032000  sellers 0.000000
      `,
      verbs,
    ))

  it('costs nothing if nothing was paid', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  asks      GET /weather             => 402 insufficient_credits  ada 0.000000
      ada  has       0.009999
      ada  asks      GET /weather             => 402 insufficient_credits  ada 0.009999
      ada  has       1.000001
      ada  asks      GET /weather?fault=dear  => 402 price_exceeds_max  ada 1.010000
      ada  asks      GET /nothing             => 502 upstream_error  ada 1.010000
      ada  asks      GET http://127.0.0.1/    => 403 destination_not_allowed  ada 1.010000
      ada  asks      GET not-a-url            => 422 validation_failed  ada 1.010000
      ada  asks      BREW /weather            => 422 validation_failed  ada 1.010000
      hub  resolves  payments but 1           => sellers 0.000000  spent 0.000000
      `,
      verbs,
    ))

  it('is charged once if the seller took the money without saying so', () =>
    tell(
      hub(),
      `
      ada  joins
      ada  has       1.000000
      ada  asks      GET /weather?fault=silent  => credits  ada 0.990000
      ada  asks      GET /weather?fault=lost    => 502 upstream_unreachable  ada 0.980000
      ada  asks      GET /weather?fault=late    => 502 upstream_error  ada 0.970000
      ada  asks      GET /weather?fault=took    => 502 upstream_error  ada 0.960000
      hub  resolves  payments but 1             => ada 0.960000  spent 0.040000  sellers 0.000000
      hub  resolves  payments but 1             => ada 0.960000  spent 0.040000
      `,
      verbs,
    ))

  it("is the platform's loss if the hold was released before the payment was seen", async () => {
    /** Releases the hold of an open payment, which must never happen by itself. */
    const frees: Verb = async ({ hub: { hub }, actor }, who) => {
      const owner = await hub.ledger.account(creditsOf(actor(who).keyId!))
      const { rows } = await hub.pool.query<{ id: string }>(
        'SELECT id FROM ledger.open_hold WHERE owner = $1',
        [owner.id],
      )
      for (const { id: call } of rows) await hub.ledger.release({ call, owner })
      return []
    }
    await tell(
      hub(),
      `
      ada  joins
      ada  has       1.000000
      ada  asks      GET /weather?fault=late    => 502 upstream_error  ada 0.990000
      ada  frees     hold                       => ada 1.000000
      hub  resolves  payments but 1  => spent 0.010000  lost 0.010000  sellers 0.000000
      hub  resolves  payments but 1  => ada 1.000000  spent 0.010000  lost 0.010000
      `,
      { ...verbs, frees },
    )
  })

  it('is refunded if the seller never took the money', async () => {
    const expire: Verb = async () => {
      const outcome = await hanging
      expect(outcome).to.be.instanceOf(HubError).with.property('code', 'upstream_timeout')
      expect(await hub().balance(patient.keyId)).to.equal(0n)
      await callRpc(hub().sandbox!.rpcUrl, 'evm_increaseTime', [120])
      await callRpc(hub().sandbox!.rpcUrl, 'evm_mine', [])
      return []
    }
    await tell(
      hub(),
      `
      ada  joins
      ada  has       1.000000
      ada  asks      GET /weather?fault=free      => 502 upstream_error  ada 0.990000
      ada  asks      GET /weather?fault=refuse    => 502 upstream_payment_rejected  ada 0.980000
      ada  asks      GET /weather?fault=failing   => 502 upstream_error  ada 0.970000
      ada  asks      GET /weather?fault=redirect  => 502 upstream_redirect  ada 0.960000
      time passes    by
      hub  resolves  payments  => ada 1.000000  spent 0.000000  sellers 0.000000
      `,
      { ...verbs, passes: expire },
    )
    expect(await hub().balance(patient.keyId)).to.equal(usd('0.01'))
  })
})
