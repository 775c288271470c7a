import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { RetainedCheckpoints } from '../../../core/ledger/retained-checkpoints.ts'
import { verifySince } from '../../../core/ledger/verify/incremental.ts'
import { usd } from '../../../core/money.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { dataOf, expectRefused, readAudit } from './fixture.ts'

const ADDRESS = '/v1/provider/payout-address'

describe('a plugin provider', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  let ada: TestAgent
  let bob: TestAgent
  before(async () => {
    ada = await hub().agent()
    bob = await hub().agent()
    await hub().credit(bob.keyId, usd('1'))
  })
  const assign = async (id: string, name: string): Promise<ApiResponse> =>
    ask(hub().url, `/v1/admin/providers/${id}/owner`, {
      key: await admin.key(hub()),
      body: { name, reason: 'a test' },
    })
  const as = (agent: TestAgent, path: string, question = {}) =>
    ask(hub().url, path, { key: agent.apiKey, ...question })
  const sign = async (agent: TestAgent): Promise<ApiResponse> => {
    const wallet = privateKeyToAccount(generatePrivateKey())
    const order = { wallet_address: wallet.address }
    const { body } = await as(agent, `${ADDRESS}/challenge`, { body: order })
    const signature = await wallet.signMessage({ message: String(body['message']) })
    return as(agent, ADDRESS, { method: 'PUT', body: { nonce: body['nonce'], signature } })
  }

  it('belongs to the assigned owner, who sees its sales and receives its payouts', async () => {
    const response = await as(bob, '/proxy/echo/say', { body: { words: 'hi' } })
    expect(response.status, response.text).to.equal(200)
    expect((await as(ada, '/v1/provider/commission')).text).not.to.include('"echo"')
    const assigned = await assign('example', ada.address)
    expect(assigned.body).to.deep.equal({
      id: 'example',
      before: null,
      after: ada.address.toLowerCase(),
      state: 'booked',
    })
    const signed = await sign(ada)
    expect(signed.body, signed.text).to.include({ provider_id: 'example', next_address: null })
    const commission = await as(ada, '/v1/provider/commission')
    expect(commission.text).to.include('"echo"')
    const { last } = await readAudit(hub())
    expect(last).to.deep.include({
      act: 'provider.assign',
      subject: 'example',
      before: { owner: null },
      after: { owner: ada.address.toLowerCase() },
    })
  })

  it('loses its payout address when it is assigned to another owner', async () => {
    const { lines } = await readAudit(hub())
    expect((await assign('example', ada.address)).status, 'the same again').to.equal(200)
    expect((await readAudit(hub())).lines, 'changes nothing').to.equal(lines)
    expect((await assign('example', bob.address)).body['before']).to.equal(
      ada.address.toLowerCase(),
    )
    const { rows } = await hub().database.pool.query(
      `SELECT address, next FROM hub.payout_destination WHERE provider = 'example'`,
    )
    expect(rows).to.deep.equal([{ address: null, next: null }])
    expect((await as(ada, ADDRESS)).body['provider_id']).to.equal(null)
    expect((await sign(bob)).body['provider_id']).to.equal('example')
  })

  it('cannot be a platform or upstream provider, or have an owner who has another', async () => {
    expectRefused(await assign('agenthub', ada.address), 409, 'owner_not_possible')
    expectRefused(await assign('nowhere', ada.address), 404, 'not_found')
    expectRefused(await assign('example', `0x${'1'.repeat(40)}`), 404, 'not_found')
    const eve = await hub().agent()
    const about = { slug: 'eve-1', name: 'E', category: 'data', summary: 'E.' }
    const body = { ...about, base_url: 'https://api.agenthub-test.com' }
    const response = await as(eve, '/v1/provider/services', { body })
    const own = String(response.body['provider'])
    expectRefused(await assign(own, ada.address), 409, 'owner_not_possible')
    expectRefused(await assign('example', eve.address), 409, 'owner_not_possible')
    const key = await admin.key(hub())
    const list = await ask(hub().url, '/v1/admin/services?slug=echo', { key })
    expect(dataOf(list)[0]).to.include({ owner: bob.address.toLowerCase() })
    expect((await as(ada, '/v1/admin/providers/example/owner', { body: {} })).status).to.equal(403)
  })

  it('is found with its owner and their keys by the wallet, or by a part of its id', async () => {
    const find = async (q: string): Promise<readonly unknown[]> => {
      const path = `/v1/admin/find?q=${encodeURIComponent(q)}`
      return dataOf(await ask(hub().url, path, { key: await admin.key(hub()) }))
    }
    const address = bob.address.toLowerCase() // the owner by now
    expect(await find(bob.address)).to.deep.include.members([
      { kind: 'provider', id: 'example', name: address, active: true },
      { kind: 'key', id: bob.keyId, name: null, active: true },
    ])
    expect(await find('xampl')).to.deep.include({
      kind: 'provider',
      id: 'example',
      name: address,
      active: true,
    })
    expect(await find(bob.keyId)).to.deep.equal([
      { kind: 'key', id: bob.keyId, name: null, active: true },
    ])
    expect(await find('no such user')).to.deep.equal([])
    const refused = await as(bob, '/v1/admin/find?q=example')
    expect(refused.status, 'needs the role').to.equal(403)
  })

  it('is suspended with a preview of the services, calls and callers that stop', async () => {
    const { admin: owner } = hub().database
    await owner.query(
      `INSERT INTO hub.caller_day
         (service, day, principal, calls, delivered, charged, first_at, last_at)
       SELECT 'analysis', (now() AT TIME ZONE 'UTC')::date - age, caller, 3, 3, 500, now(), now()
       FROM (VALUES (0, 'a'), (1, 'a'), (1, 'b'), (7, 'c')) d (age, caller)`,
    )
    const path = '/v1/admin/services/analysis/impact'
    const { body } = await ask(hub().url, path, { key: await admin.key(hub()) })
    const stopped = { services: 1, calls: 9, callers: 2, charged_microdollars: 1_500 }
    expect(body).to.deep.include({ days: 7, service: stopped })
    expect((body['provider'] as { services: number }).services).to.be.at.least(1)
  })

  it('sells on a hub whose health board fails only for what has not run', async () => {
    const { body } = await ask(hub().url, '/v1/admin/health', { key: await admin.key(hub()) })
    const checks = body['checks'] as { area: string; name: string; good: boolean; value: unknown }[]
    const stateOf = (area: string) =>
      checks.filter((each) => each.area === area).map(({ good }) => good)
    expect(stateOf('disk')).to.deep.equal([true])
    expect(stateOf('chain')).to.deep.equal([true])
    expect(stateOf('indexes')).to.deep.equal([true, true])
    expect(stateOf('shards').length).to.be.greaterThan(0)
    expect(stateOf('verification'), 'no job has verified the ledger').to.deep.equal([false])
    expect(stateOf('reconciliation'), 'of no wallet yet').to.deep.equal([false, false, true])
    const { admin: owner } = hub().database
    await owner.query(
      `INSERT INTO hub.job_run (job, succeeded_at, failing_since, duration_ms, period_seconds)
       VALUES ('works', now(), NULL, 5, 60), ('late', now() - interval '1 hour', NULL, 5, 60),
         ('fails', now(), now() - interval '6 minutes', 5, 60)`,
    )
    const { body: after } = await ask(hub().url, '/v1/admin/health', {
      key: await admin.key(hub()),
    })
    const jobs = (after['checks'] as typeof checks).filter(({ area }) => area === 'jobs')
    expect(Object.fromEntries(jobs.map(({ name, good }) => [name, good]))).to.include({
      works: true,
      late: false,
      fails: false,
    })
  })

  it('sells on a hub whose board judges the age of what is unsigned', async () => {
    const { admin: owner, pool } = hub().database
    const states = async () => {
      const { body } = await ask(hub().url, '/v1/admin/health', { key: await admin.key(hub()) })
      const checks = body['checks'] as { area: string; good: boolean; value: number }[]
      return checks.flatMap(({ area, ...state }) =>
        area === 'shards' || (area === 'heads' && state.value > 0) ? [state] : [],
      )
    }
    await verifySince(pool, {
      key: hub().hub.secretKeys.signingKey(),
      retained: new RetainedCheckpoints(hub().dataDir),
    })
    expect((await states()).every(({ good, value }) => good && value === 0)).to.equal(true)
    await owner.query(`ALTER TABLE ledger.checkpoint DISABLE TRIGGER USER;
      ALTER TABLE ledger.heads_checkpoint DISABLE TRIGGER USER;
      ALTER TABLE ledger.seal DISABLE TRIGGER USER`)
    const age = (interval: string) =>
      owner.query(`UPDATE ledger.checkpoint SET at = at - interval '${interval}';
        UPDATE ledger.seal SET at = at - interval '${interval}'`)
    await age('2 hours')
    await hub().credit(bob.keyId, usd('1'))
    const waiting = (await states()).filter(({ value }) => value > 0)
    expect(waiting.map(({ good }) => good)).to.deep.equal([true])
    await age('11 minutes')
    expect((await states()).filter(({ good }) => !good)).to.deep.equal([
      { ...waiting[0], good: false },
    ])
    const { rows: roots } = await owner.query<{ size: bigint; note: string; key: string }>(
      'DELETE FROM ledger.heads_checkpoint RETURNING size, note, key',
    )
    expect((await states()).filter(({ good }) => !good)).to.have.length(2)
    for (const { size, note, key } of roots) {
      await owner.query('INSERT INTO ledger.heads_checkpoint VALUES ($1, $2, $3)', [
        size,
        note,
        key,
      ])
    }
    await owner.query(`UPDATE ledger.checkpoint SET at = at + interval '2 hours 11 minutes';
      UPDATE ledger.seal SET at = at + interval '11 minutes';
      UPDATE ledger.seal s SET at = s.at + interval '2 hours'
      FROM ledger.checkpoint c WHERE c.shard = s.shard AND s.seq_to <= c.seq`)
  })
})
