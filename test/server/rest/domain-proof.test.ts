import { expect } from 'chai'
import { recheckDomains } from '../../../core/catalog/domains/proof.ts'
import { composeDomainProofMail } from '../../../core/catalog/domains/proof-notice.ts'
import { singleKey } from '../../../core/secret-keys/purpose-keys.ts'
import { type Body, useOwner } from '../../plugins/content/fixture.ts'

describe('a missing proof of a domain', () => {
  const fixture = useOwner()
  const { send, register, shows, verify, price } = fixture
  const tokenOf = ({ proof }: Body) => (proof as Body)['token']
  const stateOf = async (id: unknown) => (await send('GET', `/v1/domains/${String(id)}`)).body
  const listed = async (slug: unknown) =>
    (await send('GET', `/v1/services/${String(slug)}`)).status === 200

  it('is reported to the owner in time, and ends the sale after three days', async () => {
    const mine = await register()
    shows(tokenOf(mine))
    await verify(mine['domain_id'])
    await price(mine['domain_id'], [{ path: '/**', price_microdollars: 1_000 }])
    const { slug } = await stateOf(mine['domain_id'])
    const { admin } = fixture.hub.database
    const { egress, pool } = fixture.hub.hub
    const proofKeys = singleKey(Buffer.alloc(32))
    const events = ['domain.proof_missing', 'domain.expired']
    await send('POST', '/v1/webhooks', { url: 'http://other.test/hook', events })
    await admin.query(
      `INSERT INTO hub.person (principal, email)
       SELECT owner, 'owner@example.test' FROM hub.domain WHERE id = $1`,
      [mine['domain_id']],
    )
    /** Lets the proof and the notice, if any, be so many hours older, and checks again. */
    const checkAfter = async (hours: number) => {
      await admin.query(
        `UPDATE hub.domain SET next_check_at = now(), noticed_at = noticed_at - $1::interval,
           proven_at = proven_at - $1::interval WHERE state = 'verified'`,
        [`${hours} hours`],
      )
      return recheckDomains({ pool, egress, proofKeys, resolveTxt: async () => [] })
    }
    const emitted = async () => {
      const { rows } = await pool.query<{ type: string; data: Body }>(
        `SELECT type, data FROM hub.webhook_event WHERE type LIKE 'domain.%'`,
      )
      return rows
    }
    const mail = () =>
      composeDomainProofMail(pool, 'o@x.test', String(mine['domain_id']), 'https://hub.test')
    shows('nothing')
    expect([await checkAfter(30), await emitted()]).to.deep.equal([[], []])
    // Also if the hub has not run for longer than three days, the owner is told first.
    expect(await checkAfter(100)).to.deep.equal([])
    expect(await checkAfter(30)).to.deep.equal([])
    const { state, proof } = await stateOf(mine['domain_id'])
    expect(state).to.equal('verified')
    const [notice, ...others] = await emitted()
    expect([notice?.type, others]).to.deep.equal(['domain.proof_missing', []])
    const { expires_at: end } = proof as Record<string, string>
    expect(Date.parse(end!), 'says until when').to.be.within(
      Date.now() + 5.9 * 3_600_000,
      Date.now() + 6.1 * 3_600_000,
    )
    expect((await mail())?.text).to.include(`Publish it again before ${end}`)
    expect(await checkAfter(10)).to.include(slug)
    await fixture.hub.hub.catalog.refresh(String(slug))
    expect(await stateOf(mine['domain_id'])).to.include({ state: 'expired' })
    expect(await listed(slug)).to.equal(false)
    expect((await emitted()).map(({ type }) => type)).to.have.members(events)
    expect((await mail())?.text).to.include('Its pages are no longer sold.')
    const { rows: queued } = await admin.query(
      `SELECT recipient FROM hub.mail WHERE template = 'domain-proof'`,
    )
    const recipient = 'owner@example.test'
    expect(queued).to.deep.equal([{ recipient }, { recipient }])
    shows(tokenOf(mine))
    const { body: again } = await verify(mine['domain_id'])
    expect(again).to.include({ state: 'verified' })
    expect((again['proof'] as Body)['expires_at'], 'found again').to.equal(null)
    expect(await mail(), 'outdated').to.equal(undefined)
    expect(await listed(slug)).to.equal(true)
  })
})
