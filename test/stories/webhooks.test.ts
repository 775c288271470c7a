import { defineService, s, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { Webhook } from 'standardwebhooks'
import { sleep } from '../../core/clock.ts'
import { inTransaction } from '../../core/db/transaction.ts'
import { emit } from '../../core/webhooks/emit.ts'
import { until } from '../core/ledger/readers.ts'
import { ask, type Told } from '../support/ask.ts'
import type { TestAgent } from '../support/hub.ts'
import { type Answering, type Notice, openReceiver, type Receiver } from '../support/receiver.ts'
import { useHub } from '../support/suite.ts'

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

type Json = Readonly<Record<string, unknown>>

describe('webhooks', () => {
  let receiver: Receiver
  const hub = useHub(async () => {
    receiver = await openReceiver()
    const names = ['receiver.test', 'other.test'].map((name) => [name, receiver.port] as const)
    return { plugins: [worked], config: { sandboxHosts: new Map(names) } }
  })
  after(() => receiver.close())

  let ada: TestAgent
  let paths = 0
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('10'))
  })
  const api = (path: string, question: object = {}, key = ada.apiKey): Promise<Told> =>
    ask(hub().url, `/v1/webhooks${path}`, { key, ...question })
  const refused = ({ status, body }: Told, expected: number, code: string) =>
    expect([status, body['code']]).to.deep.equal([expected, code])

  /** A webhook at a path of its own, which answers as it is told. */
  async function hook(events: readonly string[], answering?: Answering, host = 'receiver.test') {
    const path = `/hook-${++paths}`
    if (answering) receiver.answer(path, answering)
    const body = { url: `http://${host}:${receiver.port}${path}`, events }
    const told = await api('', { body })
    expect(told.status, told.text).to.equal(201)
    const { webhook_id: id, secret } = told.body as { webhook_id: string; secret: string }
    return { id, secret, path }
  }
  type Hook = Awaited<ReturnType<typeof hook>>
  const test = async ({ id }: Hook): Promise<string> => {
    const { status, body } = await api(`/${id}/test`, { method: 'POST' })
    expect(status).to.equal(202)
    return String(body['event_id'])
  }
  const log = async ({ id }: Pick<Hook, 'id'>, key = ada.apiKey) =>
    (await api(`/${id}/deliveries`, {}, key)).body['data'] as Json[]
  /** The newest line of the log, once an attempt has come to its end. */
  async function tried(of: Hook, attempts = 1): Promise<Json> {
    await until(async () => {
      const [line] = await log(of)
      return line?.['last_attempt'] !== null && Number(line?.['attempts']) >= attempts
    })
    return (await log(of))[0]!
  }
  const again = ({ id }: Hook) =>
    hub().hub.pool.query('UPDATE hub.webhook_delivery SET next_at = now() WHERE webhook = $1', [id])
  const shown = async ({ id }: Hook) =>
    ((await api('')).body['data'] as Json[]).find(({ webhook_id }) => webhook_id === id)
  const work = (path = 'work') =>
    ask(hub().url, `/proxy/worked/${path}`, { key: ada.apiKey, body: {} })
  const dataOf = ({ body }: Notice) => JSON.parse(body) as { type: string; data: Json }

  it('are signed as Standard Webhooks has it, and arrive as they were sent', async () => {
    const made = await hook(['balance.low'])
    expect(made.secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const event = await test(made)
    const [notice] = await receiver.next(made.path)
    expect(notice!.headers['webhook-id']).to.equal(event)
    expect(notice!.headers['content-type']).to.equal('application/json')
    const verified = new Webhook(made.secret).verify(notice!.body, { ...notice!.headers }) as Json
    expect(verified).to.have.all.keys('type', 'timestamp', 'data')
    expect(verified['type']).to.equal('webhook.test')
    const tampered = notice!.body.replace('works', 'breaks')
    expect(() => new Webhook(made.secret).verify(tampered, { ...notice!.headers })).to.throw()
    const line = await tried(made)
    expect(line).to.include({ event_id: event, state: 'delivered', attempts: 1 })
    expect(line['last_attempt']).to.include({ response_status: 204, error: null })
    expect(line['last_attempt']).to.have.property('duration_ms').that.is.a('number')
  })

  it('balance.low tells of credits that fell below the threshold of their key', async () => {
    const made = await hook(['balance.low'])
    const low = { low_balance_microdollars: 9_850_000 }
    const set = await ask(hub().url, `/v1/keys/${ada.keyId}`, {
      key: ada.apiKey,
      method: 'PATCH',
      body: low,
    })
    expect(set.status).to.equal(200)
    await work()
    await work()
    await work()
    const notices = await receiver.next(made.path)
    expect(notices.map(dataOf)).to.deep.include.members([
      {
        ...dataOf(notices[0]!),
        type: 'balance.low',
        data: {
          key_id: ada.keyId,
          balance_microdollars: 9_800_000,
          threshold_microdollars: 9_850_000,
        },
      },
    ])
    await sleep(300)
    expect(receiver.notices.filter(({ path }) => path === made.path)).to.have.length(1)
  })

  it('call.refunded tells of what went back, and of nothing that was delivered', async () => {
    const made = await hook(['call.refunded'])
    await work()
    const failed = await work('fail')
    expect(failed.status).to.equal(502)
    const [notice] = await receiver.next(made.path)
    expect(dataOf(notice!).data).to.deep.include({
      key_id: ada.keyId,
      service: 'worked',
      endpoint: 'POST /fail',
      amount_microdollars: 100_000,
      reason: 'failed',
    })
    const { body } = await ask(hub().url, '/v1/credits/history?event=call.released', {
      key: ada.apiKey,
    })
    const [released] = body['data'] as Json[]
    expect(dataOf(notice!).data['call_id']).to.equal(released?.['id'])
    await sleep(300)
    expect(receiver.notices.filter(({ path }) => path === made.path)).to.have.length(1)
  })

  it('payment.resolved tells what became of a payment whose outcome was open', async () => {
    const made = await hook(['payment.resolved'])
    const { pool } = hub().hub
    const { rows } = await pool.query<{ payee: string }>(
      `SELECT code AS payee FROM ledger.account WHERE code LIKE '%' || $1 || '%'`,
      [ada.keyId],
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
    const notices = await receiver.next(made.path, 2)
    const told = notices.map((notice) => dataOf(notice).data)
    const common = { direction: 'in', key_id: ada.keyId, amount_microdollars: 5_000_000 }
    expect(told).to.have.deep.members([
      { ...common, id: id(1), outcome: 'paid', transaction: null },
      { ...common, id: id(2), outcome: 'not_paid', transaction: null },
    ])
    await pool.query(`DELETE FROM hub.payment_claim WHERE network = 'test'`)
  })

  it('tell if, and only if, the transaction commits; and nobody else', async () => {
    const made = await hook(['payout.sent'])
    const stranger = await hub().agent()
    const { pool } = hub().hub
    const { rows } = await pool.query<{ principal: string }>(
      'SELECT principal FROM hub.api_key WHERE id = $1',
      [ada.keyId],
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
    const [notice] = await receiver.next(made.path)
    expect(dataOf(notice!)).to.deep.include({ type: 'payout.sent', data: { n: 2 } })
    expect(await log(made)).to.have.length(1)
    refused(await api(`/${made.id}/deliveries`, {}, stranger.apiKey), 404, 'not_found')
    refused(await api(`/${made.id}`, { method: 'DELETE' }, stranger.apiKey), 404, 'not_found')
    refused(await api(`/${made.id}/test`, { method: 'POST' }, stranger.apiKey), 404, 'not_found')
    refused(await api(`/${made.id}/rotate`, { body: {} }, stranger.apiKey), 404, 'not_found')
  })

  it('try again, later each time, with the same id, until it is taken', async () => {
    let failures = 2
    const made = await hook(['call.refunded'], (out) =>
      out.writeHead(failures-- > 0 ? 503 : 200).end(),
    )
    const event = await test(made)
    const first = await tried(made)
    expect(first).to.include({ state: 'pending', attempts: 1 })
    expect(first['last_attempt']).to.include({ response_status: 503, error: 'status' })
    const wait = (line: Json) =>
      Date.parse(String(line['next_attempt_at'])) -
      Date.parse(String((line['last_attempt'] as Json)['at']))
    expect(wait(first)).to.be.within(3_750, 6_250)
    await again(made)
    const second = await tried(made, 2)
    expect(wait(second)).to.be.within(15_000, 25_000)
    await again(made)
    expect(await tried(made, 3)).to.include({ state: 'delivered' })
    const notices = await receiver.next(made.path, 3)
    expect(new Set(notices.map(({ headers }) => headers['webhook-id']))).to.deep.equal(
      new Set([event]),
    )
    for (const { body, headers } of notices) new Webhook(made.secret).verify(body, { ...headers })
    expect((await shown(made))?.['failing_since']).to.equal(null)
  })

  it('give an event up after a day, and a receiver after three without success', async () => {
    const made = await hook(['call.refunded'], (out) => out.writeHead(500).end())
    await test(made)
    await tried(made)
    const { pool } = hub().hub
    await pool.query(
      `UPDATE hub.webhook_delivery SET at = at - interval '1 day' WHERE webhook = $1`,
      [made.id],
    )
    await again(made)
    expect(await tried(made, 2)).to.include({ state: 'failed', next_attempt_at: null })
    expect(await shown(made)).to.deep.include({ disabled: null })
    await pool.query(
      `UPDATE hub.webhook SET failing_since = now() - interval '3 days' WHERE id = $1`,
      [made.id],
    )
    await test(made)
    await until(async () => (await shown(made))?.['disabled'] !== null)
    expect((await shown(made))?.['disabled']).to.include({ reason: 'failing' })
    expect((await log(made)).map(({ state }) => state)).to.deep.equal(['failed', 'failed'])
    refused(await api(`/${made.id}/test`, { method: 'POST' }), 404, 'not_found')
    receiver.answer(made.path, (out) => out.writeHead(200).end())
    const enabled = await api(`/${made.id}`, { method: 'PATCH', body: { enabled: true } })
    expect(enabled.body).to.include({ disabled: null, failing_since: null })
    await test(made)
    expect(await tried(made)).to.include({ state: 'delivered' })
  })

  it('end at once when the receiver answers 410', async () => {
    const made = await hook(['call.refunded'], (out) => out.writeHead(410).end())
    await test(made)
    await until(async () => (await shown(made))?.['disabled'] !== null)
    expect((await shown(made))?.['disabled']).to.include({ reason: 'gone' })
    expect((await log(made))[0]).to.include({ state: 'failed', attempts: 1 })
  })

  it('follow no redirect', async () => {
    const target = `/hook-${++paths}`
    const made = await hook(['call.refunded'], (out) =>
      out.writeHead(307, { location: `http://other.test:${receiver.port}${target}` }).end(),
    )
    await test(made)
    const line = await tried(made)
    expect(line['last_attempt']).to.include({ response_status: 307, error: 'upstream_redirect' })
    expect(line).to.include({ state: 'pending' })
    expect(receiver.notices.some(({ path }) => path === target)).to.equal(false)
  })

  it('read little of an answer: who says 200 and talks on has taken it', async () => {
    let written = 0
    const made = await hook(['call.refunded'], (out) => {
      out.writeHead(200)
      const piece = Buffer.alloc(65_536, 'x')
      const pour = (): void => {
        while (!out.destroyed && written < 67_108_864) {
          written += piece.length
          if (!out.write(piece)) return void out.once('drain', pour)
        }
        out.end()
      }
      out.on('error', () => {})
      pour()
    })
    await test(made)
    const line = await tried(made)
    expect(line).to.include({ state: 'delivered' })
    expect(line['last_attempt']).to.include({ response_status: 200, error: null })
    expect(written, 'the connection was ended').to.be.below(67_108_864)
  })

  it('wait ten seconds for a receiver that hangs, and try again later', async () => {
    const made = await hook(['call.refunded'], () => {})
    const other = await hook(['call.refunded'])
    await test(made)
    await receiver.next(made.path)
    await test(other)
    await receiver.next(other.path)
    expect((await log(made))[0], 'nobody waits for it').to.include({ last_attempt: null })
    const line = await tried(made)
    expect(line['last_attempt']).to.include({ response_status: null, error: 'upstream_timeout' })
    expect(line).to.include({ state: 'pending', attempts: 1 })
    expect(await tried(other)).to.include({ state: 'delivered' })
  })

  it('reach public addresses alone, whatever a name resolves to', async () => {
    for (const url of ['http://127.0.0.1/x', 'http://[::1]/x', 'http://169.254.169.254/latest']) {
      refused(
        await api('', { body: { url, events: ['balance.low'] } }),
        403,
        'destination_not_allowed',
      )
    }
    for (const url of [
      'ftp://receiver.test/x',
      'http://user:secret@receiver.test/x',
      'http://receiver.test:22/x',
      'not a url',
    ]) {
      refused(await api('', { body: { url, events: ['balance.low'] } }), 422, 'validation_failed')
    }
    const body = { url: 'http://localhost/x', events: ['balance.low'] }
    const { body: made } = await api('', { body })
    const named = { id: String(made['webhook_id']), secret: '', path: '' }
    await test(named)
    const line = await tried(named)
    expect(line['last_attempt']).to.include({
      response_status: null,
      error: 'destination_not_allowed',
    })
  })

  it('are signed by both secrets while one goes over into the next', async () => {
    const made = await hook(['call.refunded'])
    const rotated = await api(`/${made.id}/rotate`, { body: { overlap_seconds: 60 } })
    const secret = String(rotated.body['secret'])
    expect(secret).to.not.equal(made.secret)
    await test(made)
    const [notice] = await receiver.next(made.path)
    for (const each of [made.secret, secret]) {
      new Webhook(each).verify(notice!.body, { ...notice!.headers })
    }
    await hub().hub.pool.query('UPDATE hub.webhook SET previous_until = now() WHERE id = $1', [
      made.id,
    ])
    await test(made)
    const [, later] = await receiver.next(made.path, 2)
    new Webhook(secret).verify(later!.body, { ...later!.headers })
    expect(() => new Webhook(made.secret).verify(later!.body, { ...later!.headers })).to.throw()
  })

  it('have secrets that no table holds', async () => {
    const made = await hook(['call.refunded'])
    const bytes = Buffer.from(made.secret.slice(6), 'base64').toString('hex')
    const { rows } = await hub().hub.pool.query<{ dump: string }>(
      `SELECT string_agg(w::text, ' ') AS dump FROM hub.webhook w`,
    )
    expect(rows[0]!.dump).to.include(made.id)
    for (const secret of [made.secret.slice(6), bytes]) {
      expect(rows[0]!.dump).to.not.include(secret)
      expect(hub().logged()).to.not.include(secret)
    }
    expect(JSON.stringify((await api('')).body)).to.not.include(made.secret)
  })

  it('are a matter of roots, twenty at most, with the events that there are', async () => {
    const child = await ask(hub().url, '/v1/keys', { key: ada.apiKey, body: {} })
    refused(await api('', {}, String(child.body['api_key'])), 403, 'root_key_required')
    const url = 'http://receiver.test/x'
    for (const events of [[], ['call.made'], 'balance.low']) {
      refused(await api('', { body: { url, events } }), 422, 'validation_failed')
    }
    for (let i = 0; i < 20; i++) await hook(['balance.low'])
    refused(await api('', { body: { url, events: ['balance.low'] } }), 403, 'key_limit_reached')
    const [first] = (await api('')).body['data'] as Json[]
    const path = `/${String(first?.['webhook_id'])}`
    expect((await api(path, { method: 'DELETE' })).status).to.equal(200)
    expect((await api('')).body['data']).to.have.length(19)
  })
})
