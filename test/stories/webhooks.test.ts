import { defineService, s, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { Webhook } from 'standardwebhooks'
import { sleep } from '../../core/clock.ts'
import { inTransaction } from '../../core/db/transaction.ts'
import { emit } from '../../core/webhooks/events.ts'
import { ask } from '../support/ask.ts'
import type { Notice } from '../support/receiver.ts'
import { type Json, refused, useWebhooks } from '../support/webhook-fixture.ts'

const worked = defineService({
  slug: 'worked',
  name: 'Worked',
  category: 'test',
  summary: 'Works.',
  provider: 'example',
  endpoints: {
    'POST /work': { summary: 'Works.', price: usd('0.1'), input: s.object({}), handle: () => ({}) },
    'POST /fail': {
      summary: 'Fails.',
      price: usd('0.1'),
      input: s.object({}),
      handle: () => {
        throw new Error('down')
      },
    },
  },
})

describe('webhooks', () => {
  const hooks = useWebhooks([worked])
  const work = (path = 'work') =>
    ask(hooks.hub().url, `/proxy/worked/${path}`, { key: hooks.ada().apiKey, body: {} })
  const dataOf = ({ body }: Notice) => JSON.parse(body) as { type: string; data: Json }

  it('are signed according to Standard Webhooks and arrive unchanged', async () => {
    const made = await hooks.add(['balance.low'])
    expect(made.secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const event = await hooks.test(made)
    const [notice] = await hooks.receiver().next(made.path)
    expect(notice!.headers['webhook-id']).to.equal(event)
    expect(notice!.headers['content-type']).to.equal('application/json')
    const verified = new Webhook(made.secret).verify(notice!.body, { ...notice!.headers }) as Json
    expect(verified).to.have.all.keys('type', 'timestamp', 'data')
    expect(verified['type']).to.equal('webhook.test')
    const tampered = notice!.body.replace('works', 'breaks')
    expect(() => new Webhook(made.secret).verify(tampered, { ...notice!.headers })).to.throw()
    const line = await hooks.tried(made)
    expect(line).to.include({ event_id: event, state: 'delivered', attempts: 1 })
    expect(line['last_attempt']).to.include({ response_status: 204, error: null })
    expect(line['last_attempt']).to.have.property('duration_ms').that.is.a('number')
  })

  it("send balance.low when credits fall below their key's threshold", async () => {
    const made = await hooks.add(['balance.low'])
    const low = { low_balance_microdollars: 9_850_000 }
    const set = await ask(hooks.hub().url, `/v1/keys/${hooks.ada().keyId}`, {
      key: hooks.ada().apiKey,
      method: 'PATCH',
      body: low,
    })
    expect(set.status).to.equal(200)
    await work()
    await work()
    await work()
    const notices = await hooks.receiver().next(made.path)
    expect(notices.map(dataOf)).to.deep.include.members([
      {
        ...dataOf(notices[0]!),
        type: 'balance.low',
        data: {
          key_id: hooks.ada().keyId,
          balance_microdollars: 9_800_000,
          threshold_microdollars: 9_850_000,
        },
      },
    ])
    await sleep(300)
    expect(hooks.arrived(made)).to.equal(1)
  })

  it('send call.refunded for refunds, not for deliveries', async () => {
    const made = await hooks.add(['call.refunded'])
    await work()
    const failed = await work('fail')
    expect(failed.status).to.equal(502)
    const [notice] = await hooks.receiver().next(made.path)
    expect(dataOf(notice!).data).to.deep.include({
      key_id: hooks.ada().keyId,
      service: 'worked',
      endpoint: 'POST /fail',
      amount_microdollars: 100_000,
      reason: 'failed',
    })
    const { body } = await ask(hooks.hub().url, '/v1/credits/history?event=call.released', {
      key: hooks.ada().apiKey,
    })
    const [released] = body['data'] as Json[]
    expect(dataOf(notice!).data['call_id']).to.equal(released?.['id'])
    await sleep(300)
    expect(hooks.arrived(made)).to.equal(1)
  })

  it('send payment.resolved with the outcome of an open payment', async () => {
    const made = await hooks.add(['payment.resolved'])
    const { pool } = hooks.hub().hub
    const { rows } = await pool.query<{ payee: string }>(
      `SELECT code AS payee FROM ledger.account WHERE code LIKE '%' || $1 || '%'`,
      [hooks.ada().keyId],
    )
    const claim = async (id: string, state: string, next: string) => {
      await pool.query(
        `INSERT INTO hub.payment_claim (network, asset, payer, nonce, id, purpose, pay_to, payee,
           commission_bps, request_hash, amount, valid_before, state)
         VALUES ('test', '0x' || repeat('0', 40), '0x' || repeat('1', 40),
           '0x' || lpad(replace($1::uuid::text, '-', ''), 64, '0'), $1, 'credits',
           '0x' || repeat('2', 40), $2, 0, '\\x00', 5000000, now(), $3)`,
        [id, rows[0]!.payee, state],
      )
      await pool.query('UPDATE hub.payment_claim SET state = $2 WHERE id = $1', [id, next])
    }
    const id = (n: number) => `019a0000-0000-7000-8000-00000000000${n}`
    await claim(id(1), 'pending', 'confirmed')
    await claim(id(2), 'pending', 'failed')
    await claim(id(3), 'claimed', 'settled')
    const notices = await hooks.receiver().next(made.path, 2)
    const data = notices.map((notice) => dataOf(notice).data)
    const common = { direction: 'in', key_id: hooks.ada().keyId, amount_microdollars: 5_000_000 }
    expect(data).to.have.deep.members([
      { ...common, id: id(1), outcome: 'paid', transaction: null },
      { ...common, id: id(2), outcome: 'not_paid', transaction: null },
    ])
    await pool.query(`DELETE FROM hub.payment_claim WHERE network = 'test'`)
  })

  it('are sent only if the transaction commits, and only to their principal', async () => {
    const made = await hooks.add(['payout.sent'])
    const stranger = await hooks.hub().agent()
    const { pool } = hooks.hub().hub
    const { rows } = await pool.query<{ principal: string }>(
      'SELECT principal FROM hub.api_key WHERE id = $1',
      [hooks.ada().keyId],
    )
    const tell = (data: Json, then: () => void = () => {}) =>
      inTransaction(pool, async (client) => {
        await emit(client, rows[0]!.principal, 'payout.sent', data)
        await emit(client, rows[0]!.principal, 'listing.changed', data)
        then()
      })
    const broken = tell({ n: 1 }, () => {
      throw new Error('rolled back')
    }).catch((error: Error) => error.message)
    expect(await broken).to.equal('rolled back')
    await tell({ n: 2 })
    const [notice] = await hooks.receiver().next(made.path)
    expect(dataOf(notice!)).to.deep.include({ type: 'payout.sent', data: { n: 2 } })
    expect(await hooks.log(made)).to.have.length(1)
    refused(await hooks.api(`/${made.id}/deliveries`, {}, stranger.apiKey), 404, 'not_found')
    refused(await hooks.api(`/${made.id}`, { method: 'DELETE' }, stranger.apiKey), 404, 'not_found')
    refused(
      await hooks.api(`/${made.id}/test`, { method: 'POST' }, stranger.apiKey),
      404,
      'not_found',
    )
    refused(await hooks.api(`/${made.id}/rotate`, { body: {} }, stranger.apiKey), 404, 'not_found')
  })

  it('are signed with both secrets during a rotation', async () => {
    const made = await hooks.add(['call.refunded'])
    const rotated = await hooks.api(`/${made.id}/rotate`, { body: { overlap_seconds: 60 } })
    const secret = String(rotated.body['secret'])
    expect(secret).to.not.equal(made.secret)
    await hooks.test(made)
    const [notice] = await hooks.receiver().next(made.path)
    for (const each of [made.secret, secret]) {
      new Webhook(each).verify(notice!.body, { ...notice!.headers })
    }
    await hooks
      .hub()
      .hub.pool.query('UPDATE hub.webhook SET previous_until = now() WHERE id = $1', [made.id])
    await hooks.test(made)
    const [, later] = await hooks.receiver().next(made.path, 2)
    new Webhook(secret).verify(later!.body, { ...later!.headers })
    expect(() => new Webhook(made.secret).verify(later!.body, { ...later!.headers })).to.throw()
  })

  it('have secrets that no table contains', async () => {
    const made = await hooks.add(['call.refunded'])
    const bytes = Buffer.from(made.secret.slice(6), 'base64').toString('hex')
    const { rows } = await hooks
      .hub()
      .hub.pool.query<{ dump: string }>(
        `SELECT string_agg(w::text, ' ') AS dump FROM hub.webhook w`,
      )
    expect(rows[0]!.dump).to.include(made.id)
    for (const secret of [made.secret.slice(6), bytes]) {
      expect(rows[0]!.dump).to.not.include(secret)
      expect(hooks.hub().logged()).to.not.include(secret)
    }
    expect(JSON.stringify((await hooks.api('')).body)).to.not.include(made.secret)
  })

  it('belong to main keys, at most twenty, with known events', async () => {
    const child = await ask(hooks.hub().url, '/v1/keys', { key: hooks.ada().apiKey, body: {} })
    refused(await hooks.api('', {}, String(child.body['api_key'])), 403, 'root_key_required')
    const url = 'http://hooks.receiver().test/x'
    for (const events of [[], ['call.made'], 'balance.low']) {
      refused(await hooks.api('', { body: { url, events } }), 422, 'validation_failed')
    }
    for (let i = 0; i < 20; i++) await hooks.add(['balance.low'])
    refused(
      await hooks.api('', { body: { url, events: ['balance.low'] } }),
      403,
      'key_limit_reached',
    )
    const [first] = (await hooks.api('')).body['data'] as Json[]
    const path = `/${String(first?.['webhook_id'])}`
    expect((await hooks.api(path, { method: 'DELETE' })).status).to.equal(200)
    expect((await hooks.api('')).body['data']).to.have.length(19)
  })
})
