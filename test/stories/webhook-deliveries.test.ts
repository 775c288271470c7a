import { expect } from 'chai'
import { Webhook } from 'standardwebhooks'
import { eventually } from '../support/eventually.ts'
import { type Json, refused, useWebhooks } from '../support/webhook-fixture.ts'

describe('webhook deliveries', () => {
  const hooks = useWebhooks()

  it('are retried with growing delays and the same id until accepted', async () => {
    let failures = 2
    const made = await hooks.add(['call.refunded'], (out) =>
      out.writeHead(failures-- > 0 ? 503 : 200).end(),
    )
    const event = await hooks.test(made)
    const first = await hooks.tried(made)
    expect(first).to.include({ state: 'pending', attempts: 1 })
    expect(first['last_attempt']).to.include({ response_status: 503, error: 'status' })
    const wait = (line: Json) =>
      Date.parse(String(line['next_attempt_at'])) -
      Date.parse(String((line['last_attempt'] as Json)['at']))
    expect(wait(first)).to.be.within(3_750, 6_250)
    await hooks.again(made)
    const second = await hooks.tried(made)
    expect(wait(second)).to.be.within(15_000, 25_000)
    await hooks.again(made)
    expect(await hooks.tried(made)).to.include({ state: 'delivered' })
    const notices = await hooks.receiver().next(made.path, 3)
    expect(new Set(notices.map(({ headers }) => headers['webhook-id']))).to.deep.equal(
      new Set([event]),
    )
    for (const { body, headers } of notices) new Webhook(made.secret).verify(body, { ...headers })
    expect((await hooks.shown(made))?.['failing_since']).to.equal(null)
  })

  it('give up an event after a day, and a receiver after three failed days', async () => {
    const made = await hooks.add(['call.refunded'], (out) => out.writeHead(500).end())
    await hooks.test(made)
    await hooks.tried(made)
    const { pool } = hooks.hub().hub
    await pool.query(
      `UPDATE hub.webhook_delivery SET at = at - interval '1 day' WHERE webhook = $1`,
      [made.id],
    )
    await hooks.again(made)
    expect(await hooks.tried(made)).to.include({ state: 'failed', next_attempt_at: null })
    expect(await hooks.shown(made)).to.deep.include({ disabled: null })
    await pool.query(
      `UPDATE hub.webhook SET failing_since = now() - interval '3 days' WHERE id = $1`,
      [made.id],
    )
    await hooks.test(made)
    await eventually(async () => (await hooks.shown(made))?.['disabled'] !== null)
    expect((await hooks.shown(made))?.['disabled']).to.include({ reason: 'failing' })
    expect((await hooks.log(made)).map(({ state }) => state)).to.deep.equal(['failed', 'failed'])
    refused(await hooks.api(`/${made.id}/test`, { method: 'POST' }), 404, 'not_found')
    hooks.receiver().answer(made.path, (out) => out.writeHead(200).end())
    const enabled = await hooks.api(`/${made.id}`, { method: 'PATCH', body: { enabled: true } })
    expect(enabled.body).to.include({ disabled: null, failing_since: null })
    await hooks.test(made)
    expect(await hooks.tried(made)).to.include({ state: 'delivered' })
  })

  it('end at once if the receiver returns 410', async () => {
    const made = await hooks.add(['call.refunded'], (out) => out.writeHead(410).end())
    await hooks.test(made)
    await eventually(async () => (await hooks.shown(made))?.['disabled'] !== null)
    expect((await hooks.shown(made))?.['disabled']).to.include({ reason: 'gone' })
    expect((await hooks.log(made))[0]).to.include({ state: 'failed', attempts: 1 })
  })

  it('follow no redirect', async () => {
    const target = hooks.newPath()
    const made = await hooks.add(['call.refunded'], (out) =>
      out.writeHead(307, { location: `http://other.test:${hooks.receiver().port}${target}` }).end(),
    )
    await hooks.test(made)
    const line = await hooks.tried(made)
    expect(line['last_attempt']).to.include({ response_status: 307, error: 'upstream_redirect' })
    expect(line).to.include({ state: 'pending' })
    expect(hooks.receiver().notices.some(({ path }) => path === target)).to.equal(false)
  })

  it('read little of a response: a 200 counts whatever follows', async () => {
    let written = 0
    const made = await hooks.add(['call.refunded'], (out) => {
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
    await hooks.test(made)
    const line = await hooks.tried(made)
    expect(line).to.include({ state: 'delivered' })
    expect(line['last_attempt']).to.include({ response_status: 200, error: null })
    expect(written, 'the connection was ended').to.be.below(67_108_864)
  })

  it('wait ten seconds for a receiver that hangs, and try again later', async () => {
    const made = await hooks.add(['call.refunded'], () => {})
    const other = await hooks.add(['call.refunded'])
    await hooks.test(made)
    await hooks.receiver().next(made.path)
    await hooks.test(other)
    await hooks.receiver().next(other.path)
    expect((await hooks.log(made))[0], 'nobody waits for it').to.include({ last_attempt: null })
    const line = await hooks.tried(made)
    expect(line['last_attempt']).to.include({ response_status: null, error: 'upstream_timeout' })
    expect(line).to.include({ state: 'pending', attempts: 1 })
    expect(await hooks.tried(other)).to.include({ state: 'delivered' })
  })

  it('reach only public addresses, whatever a name resolves to', async () => {
    for (const url of ['http://127.0.0.1/x', 'http://[::1]/x', 'http://169.254.169.254/latest']) {
      refused(
        await hooks.api('', { body: { url, events: ['balance.low'] } }),
        403,
        'destination_not_allowed',
      )
    }
    for (const url of [
      'ftp://hooks.receiver().test/x',
      'http://user:secret@hooks.receiver().test/x',
      'http://hooks.receiver().test:22/x',
      'not a url',
    ]) {
      refused(
        await hooks.api('', { body: { url, events: ['balance.low'] } }),
        422,
        'validation_failed',
      )
    }
    const body = { url: 'http://localhost/x', events: ['balance.low'] }
    const { body: made } = await hooks.api('', { body })
    const named = { id: String(made['webhook_id']), secret: '', path: '' }
    await hooks.test(named)
    const line = await hooks.tried(named)
    expect(line['last_attempt']).to.include({
      response_status: null,
      error: 'destination_not_allowed',
    })
  })
})
