import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { systemClock } from '../../../../core/clock.ts'
import { uuidv7 } from '../../../../core/ids.ts'
import type { Claim } from '../../../../core/payments/receiving/claim.ts'
import { singleKey } from '../../../../core/secret-keys/purpose-keys.ts'
import { StoredResponses } from '../../../../core/usage/stored-responses.ts'
import { payment, purchase, useClaims } from '../../../support/claims-fixture.ts'

describe('the settlement of a payment whose work was done', () => {
  const use = useClaims()
  let responses: StoredResponses
  before(() => {
    responses = new StoredResponses(use.fresh.pool, singleKey(randomBytes(32)))
  })
  const newCall = (): string => uuidv7(systemClock.now().getTime())
  const claimed = async (): Promise<Claim & { readonly call: string }> => {
    const call = newCall()
    const { claim } = await use.claims.claim(payment(), { ...purchase(), purpose: 'call', call })
    return { ...claim, call }
  }
  const response = (call: string, body: string) => ({ call, status: 200, headers: {}, body })
  const begin = (claim: Claim, call: string, body: string) =>
    use.claims.beginSettlement(claim, responses.seal(claim.id, response(call, body)))
  const isBegun = async ({ key }: Claim) => (await use.claims.find(key))!.mayBeSent

  it('begins in the commit that stores the response, which the payer can then get', async () => {
    const claim = await claimed()
    expect(await begin(claim, claim.call, 'work')).to.equal(true)
    const { rows } = await use.fresh.admin.query(
      `SELECT c.settling, c.xmin = k.xmin AS "isOneCommit"
       FROM hub.payment_claim c JOIN hub.kept_answer k USING (id) WHERE id = $1`,
      [claim.id],
    )
    expect(rows).to.deep.equal([{ settling: true, isOneCommit: true }])
    expect(await responses.find(claim.id)).to.deep.equal(response(claim.call, 'work'))
  })

  it('does not begin if the response cannot be stored', async () => {
    const claim = await claimed()
    await use.fresh.admin.query('REVOKE INSERT ON hub.kept_answer FROM hub_app')
    const refused = await begin(claim, claim.call, 'work').catch((error: unknown) => error)
    await use.fresh.admin.query('GRANT INSERT ON hub.kept_answer TO hub_app')
    expect(refused).to.be.an('error').with.property('code', '42501')
    expect(await isBegun(claim)).to.equal(false)
  })

  it('begins for the call that the payment pays for, and stores no other response', async () => {
    const claim = await claimed()
    expect(await begin(claim, newCall(), 'of another call')).to.equal(false)
    expect([await isBegun(claim), await responses.find(claim.id)]).to.deep.equal([false, undefined])
    expect(await begin(claim, claim.call, 'first')).to.equal(true)
    expect(await begin(claim, claim.call, 'second')).to.equal(false)
    expect(await responses.find(claim.id)).to.have.property('body', 'first')
    const lost = await claimed()
    await use.fresh.admin.query(
      'UPDATE hub.payment_claim SET process = gen_random_uuid() WHERE id = $1',
      [lost.id],
    )
    expect(await begin(lost, lost.call, 'of a process that is gone')).to.equal(false)
    expect([await isBegun(lost), await responses.find(lost.id)]).to.deep.equal([false, undefined])
    const released = await claimed()
    await use.claims.release(released)
    expect(await begin(released, released.call, 'too late')).to.equal(false)
    expect(await responses.find(released.id)).to.equal(undefined)
  })

  it('replaces the response of a process that did not begin its settlement', async () => {
    const claim = await claimed()
    expect(await responses.store(claim.id, response(newCall(), 'older'))).to.equal(true)
    expect(await begin(claim, claim.call, 'newer')).to.equal(true)
    expect(await responses.find(claim.id)).to.have.property('body', 'newer')
  })
})
