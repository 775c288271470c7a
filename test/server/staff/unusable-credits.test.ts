import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { freezeKey } from '../../../core/identity/key-state.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createUnusableKey } from './debts.ts'
import { createStaff, createVisitor, dataOf, expectRefused, type Json } from './fixture.ts'

describe('credits of a key that is revoked', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  let fay: Person
  let gus: Person
  let owner: Person
  before(async () => {
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    gus = await createStaff(hub(), admin, 'gus@house.example', 'finance')
    owner = await createVisitor(hub(), 'owner@shop.example')
  })

  const post = (path: string, body: Json = {}, by = fay): Promise<ApiResponse> =>
    by.ask(`/v1/finance/${path}`, { body: { reason: 'nobody claims them', ...body } })
  const createKey = async (credits: bigint): Promise<string> => {
    const id = String((await owner.ask('/v1/keys', { body: {} })).body['key_id'])
    if (credits > 0n) await hub().credit(id, credits)
    return id
  }
  const revoke = (id: string, query = '') =>
    owner.ask(`/v1/keys/${id}${query}`, { method: 'DELETE' })

  it('stay on it without another key, and move when there is one', async () => {
    const first = await createKey(usd('2'))
    const alone = await revoke(first)
    expect([alone.status, alone.body], alone.text).to.deep.equal([
      200,
      { key_id: first, credits_to: null, moved_microdollars: 0, left_microdollars: 2_000_000 },
    ])
    const second = await createKey(0n)
    const moved = { key_id: first, credits_to: second, moved_microdollars: 2_000_000 }
    expect((await revoke(first)).body).to.deep.equal({ ...moved, left_microdollars: 0 })
    expect(await hub().balance(second)).to.equal(usd('2'))
    expect((await revoke(first)).body).to.include({ credits_to: null, moved_microdollars: 0 })
  })

  it('move to the key that the owner names, and to no other key', async () => {
    const [third, fourth] = [await createKey(usd('1')), await createKey(0n)]
    const stranger = (await hub().agent()).keyId
    expectRefused(await revoke(third, `?credits_to=${stranger}`), 422, 'validation_failed')
    expect((await owner.ask(`/v1/keys/${third}`)).body['revoked_at']).to.equal(null)
    expect((await revoke(third, `?credits_to=${fourth}`)).body['credits_to']).to.equal(fourth)
    expect(await hub().balance(fourth)).to.equal(usd('1'))
  })

  it('do not move while an administrator froze the key', async () => {
    const fifth = await createKey(usd('1'))
    await freezeKey(hub().hub.pool, fifth, 'administrator', 'an investigation')
    expect((await revoke(fifth)).body).to.include({ left_microdollars: 1_000_000 })
  })

  it('are no credits of a sub-key, whose revocation moves nothing', async () => {
    const { apiKey, keyId } = await hub().agent()
    await hub().credit(keyId, usd('1'))
    const child = await ask(hub().url, '/v1/keys', {
      key: apiKey,
      body: { max_day_microdollars: 9 },
    })
    const path = `/v1/keys/${String(child.body['key_id'])}`
    const { body } = await ask(hub().url, path, { key: apiKey, method: 'DELETE' })
    expect(body).to.include({ moved_microdollars: 0, left_microdollars: 0 })
    expect(await hub().balance(keyId)).to.equal(usd('1'))
  })

  it('become income only by two people, and never of a key that works', async () => {
    const keyId = await createUnusableKey(hub(), usd('3'))
    const listed = dataOf(await fay.ask('/v1/finance/unusable-credits'))
    expect(listed.find((each) => each['key_id'] === keyId)).to.include({
      credits_microdollars: 3_000_000,
    })
    const path = `unusable-credits/${keyId}/breakage`
    expectRefused(await post(path, { amount_microdollars: 3_000_001 }), 409, 'not_booked')
    const proposed = await post(path)
    expect([proposed.status, proposed.body['state']], proposed.text).to.deep.equal([
      202,
      'proposed',
    ])
    const confirm = `proposals/${String(proposed.body['id'])}/confirm`
    expectRefused(await post(confirm), 403, 'second_person_required')
    expect(await hub().balance(keyId)).to.equal(usd('3'))
    expect((await post(confirm, {}, gus)).status).to.equal(200)
    expect(await hub().balance(keyId)).to.equal(0n)
    expect(await hub().hub.ledger.balance('income:breakage')).to.equal(usd('3'))
    const working = (await hub().agent()).keyId
    await hub().credit(working, usd('1'))
    expectRefused(await post(`unusable-credits/${working}/breakage`), 409, 'not_booked')
    const { ledger } = hub().hub
    const account = await ledger.account(creditsOf(working))
    const lapse = { type: 'credits.lapsed', credits: account.code, amount: usd('1') } as const
    const entry = { owner: account, id: crypto.randomUUID(), meta: { author: 'a', reason: 'b' } }
    const failure = await ledger.post(lapse, entry).catch((error: Error) => error.message)
    expect(failure).to.equal('the key works: its credits do not lapse')
  })
})
