import { expect } from 'chai'
import { load } from 'cheerio'
import { recordChange } from '../../core/audit/activity.ts'
import { systemClock } from '../../core/clock.ts'
import { uuidv7 } from '../../core/ids.ts'
import { createAdmin } from '../server/rest/finance/fixture.ts'
import { createVisitor, dataOf, type Json } from '../server/staff/fixture.ts'
import { ask } from '../support/ask.ts'
import type { Person } from '../support/person.ts'
import { useHub } from '../support/suite.ts'

const PATH = '/v1/account/activity'

describe('the activity of an account', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  let person: Person
  let keyId: string
  let subKeyId: string
  before(async () => {
    person = await createVisitor(hub(), 'acts@example.test')
    const response = await person.ask('/v1/keys', { body: { name: 'Main' } })
    keyId = String(response.body['key_id'])
    const sub = { parent: keyId, max_day_microdollars: 5_000_000, services: ['echo'] }
    subKeyId = String((await person.ask('/v1/keys', { body: sub })).body['key_id'])
    await person.ask(`/v1/keys/${subKeyId}`, {
      method: 'PATCH',
      body: { max_day_microdollars: null },
    })
    const key = String(response.body['api_key'])
    await ask(hub().url, `/v1/keys/${subKeyId}/freeze`, { key, body: { reason: 'It spends.' } })
    const url = 'https://hooks.example.com/in?token=opensesame'
    await person.ask('/v1/webhooks', { body: { url, events: ['balance.low'] } })
  })

  const list = async (query = '', of = person): Promise<Json[]> =>
    dataOf(await of.ask(`${PATH}${query}`))

  it('names who changed what, with the new values and without secrets', async () => {
    const lines = await list()
    const [hook, frozen, changed, child, main] = lines
    expect(lines.map(({ act }) => act)).to.deep.equal([
      'webhook.create',
      'key.freeze',
      'key.change',
      'key.create',
      'key.create',
    ])
    expect([main, child, changed, hook].map((line) => line?.['author'])).to.deep.equal(
      Array.from({ length: 4 }, () => 'acts@example.test'),
    )
    expect(frozen).to.include({ author: keyId, via: keyId, subject: subKeyId })
    expect(main).to.deep.include({ subject: keyId, details: { name: 'Main' } })
    expect(changed).to.deep.include({ details: { max_day_microdollars: null } })
    expect(hook?.['details']).to.deep.equal({ host: 'hooks.example.com', events: ['balance.low'] })
    expect(JSON.stringify(lines)).not.to.match(/opensesame|ahk_|whsec_/)
  })

  it('is a page of the account, in words', async () => {
    const { text } = await person.ask('/account/activity', { headers: { accept: 'text/html' } })
    const page = load(text)
    const rows = page('[aria-label=Activity] tbody tr')
      .toArray()
      .map((row) => page(row).text().replaceAll(/\s+/g, ' '))
    expect(rows).to.have.length(5)
    expect(rows[1]).to.include('Key frozen').and.to.include('reason: It spends.')
    expect(rows[2]).to.include('max day: none')
    expect(rows[3]).to.include('max day: $5.00').and.to.include('services: echo')
    expect(page(`a[href="/account/keys/${subKeyId}"]`)).to.have.length(3)
  })

  it('has no change that failed half-way, because nothing was changed', async () => {
    await hub().database.admin.query(
      `ALTER TABLE hub.api_key ADD CONSTRAINT refused CHECK (name <> 'refused')`,
    )
    const { body: before } = await person.ask(`/v1/keys/${subKeyId}`)
    const lines = await list()
    const change = { max_call_microdollars: 7, max_day_microdollars: 5, name: 'refused' }
    const { status } = await person.ask(`/v1/keys/${subKeyId}`, { method: 'PATCH', body: change })
    expect(status).to.equal(500)
    expect((await person.ask(`/v1/keys/${subKeyId}`)).body).to.deep.equal(before)
    expect(await list()).to.deep.equal(lines)
    await hub().database.admin.query('ALTER TABLE hub.api_key DROP CONSTRAINT refused')
  })

  it('goes on from page to page, with each line once', async () => {
    const ids = (await list()).map(({ id }) => id)
    const paged: unknown[] = []
    let next: string | null = ''
    while (next !== null) {
      const { body } = await person.ask(`${PATH}?limit=2${next && `&cursor=${next}`}`)
      paged.push(...(body['data'] as Json[]).map(({ id }) => id))
      next = body['next_cursor'] as string | null
    }
    expect(paged).to.deep.equal(ids)
  })

  it('includes what staff did to its keys, without their names or reasons', async () => {
    const frozen = await ask(hub().url, `/v1/admin/keys/${keyId}`, {
      method: 'PATCH',
      key: await admin.key(hub()),
      body: { frozen: { reason: 'Reported.' }, reason: 'A secret suspicion.' },
    })
    expect(frozen.status, frozen.text).to.equal(200)
    const [latest, next] = await list('?limit=2')
    expect(latest).to.include({ act: 'key.freeze', author: null, network: null, subject: keyId })
    expect(next).to.include({ act: 'webhook.create' })
    expect(JSON.stringify(latest)).not.to.include('suspicion')
  })

  it('shows nothing of other accounts, and has no line for what was refused', async () => {
    const other = await createVisitor(hub(), 'acts-not@example.test')
    const { status } = await other.ask(`/v1/keys/${keyId}`, {
      method: 'PATCH',
      body: { name: 'x' },
    })
    expect(status).to.equal(404)
    expect(await list('', other)).to.deep.equal([])
    expect((await ask(hub().url, PATH)).status, 'without a session').to.equal(401)
  })

  it('cannot be changed, and has a limited number of lines per act and day', async () => {
    const { admin: owner, pool } = hub().database
    for (const change of [`UPDATE hub.activity SET act = 'key.thaw'`, 'DELETE FROM hub.activity']) {
      await owner.query(change).then(
        () => expect.fail(change),
        (error: Error) => expect(error.message).to.match(/append|never|change/i),
      )
    }
    const { rows } = await owner.query<{ principal: string }>(
      'SELECT principal FROM hub.activity LIMIT 1',
    )
    const via = 'key_flood'
    for (let i = 0; i < 205; i++) {
      await recordChange(pool, {
        id: uuidv7(systemClock.now().getTime()),
        principal: rows[0]!.principal,
        author: via,
        via,
        network: '127.0.0',
        act: 'key.rotate',
        subject: keyId,
        details: {},
      })
    }
    const count = await owner.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM hub.activity WHERE act = 'key.rotate'`,
    )
    expect(count.rows[0]!.count).to.equal(200)
  })
})
