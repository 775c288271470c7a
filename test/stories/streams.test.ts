import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { Client, type Dispatcher } from 'undici'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { sleep } from '../../core/clock.ts'
import { usd } from '../../core/money.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { claimsOf } from '../support/receipt-claims.ts'
import { useHub } from '../support/suite.ts'
import { endless, PRICE, piped, Source, sample } from './piped-service.ts'

const sha = (data: string): string => createHash('sha256').update(data).digest('base64url')

describe('a streaming response', () => {
  const source = new Source()
  const hub = useHub(async () => {
    await source.open()
    return { plugins: [piped(source), sample(source)] }
  })
  after(() => source.close())
  let ada: TestAgent
  let client: Client
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
    client = new Client(hub().url)
  })
  afterEach(() => client.destroy())

  /** Sends a request; the response is read in chunks. */
  const begin = (path: string, headers: Record<string, string> = {}, body: object = {}) =>
    client.request({
      method: 'POST',
      path: `/proxy/${path}`,
      headers: {
        authorization: `Bearer ${ada.apiKey}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(body),
    })
  const idOf = ({ headers }: Dispatcher.ResponseData) => String(headers['x-call-id'])
  const callOf = async (id: string) =>
    (await ask(hub().url, `/v1/calls/${id}`, { key: ada.apiKey })).body
  const spent = async () => usd('1') - (await hub().balance(ada.keyId))
  const holds = () => hub().hub.ledger.balance('liabilities:holds')
  const over = async (id: string) => {
    let call: ApiResponse['body'] = {}
    await eventually(async () => {
      call = await callOf(id)
      return call['state'] !== 'held' && call['receipt'] !== null
    })
    return call
  }
  const textOf = async (answer: Dispatcher.ResponseData): Promise<string> =>
    answer.body.text().catch(() => 'broken off')

  it('is reserved while it runs and charged at its end, with trailers', async () => {
    const connection = source.next()
    const answer = await begin('piped/on')
    const upstream = await connection
    expect(answer.headers).not.to.have.property('x-charged-microdollars')
    expect(answer.headers).to.include({
      'x-reserved-microdollars': '1000',
      'x-payment-source': 'credits',
      'content-type': 'text/event-stream',
    })
    upstream.write('data: 1\n\n')
    const [first] = await once(answer.body, 'data')
    expect(String(first)).to.equal('data: 1\n\n')
    expect(await callOf(idOf(answer))).to.include({ state: 'held', receipt: null })
    expect(await holds()).to.equal(PRICE)
    upstream.end('data: 2\n\n')
    await once(answer.body, 'end')
    expect([await spent(), await holds()]).to.deep.equal([PRICE, 0n])
    const trailers = answer.trailers
    expect(trailers).to.include({
      'x-charged-microdollars': '1000',
      'x-balance-microdollars': '999000',
    })
    const record = await callOf(idOf(answer))
    expect(record).to.include({ state: 'charged', charged_microdollars: 1_000 })
    const claims = claimsOf(trailers['x-receipt'])
    expect(claimsOf(record['receipt'])).to.deep.equal(claims)
    expect(claims).to.include({ response_sha256: sha('data: 1\n\ndata: 2\n\n') })
  })

  it('is cut off and refunded if its source fails', async () => {
    const connection = source.next()
    const answer = await begin('piped/on')
    ;(await connection).write('data: 1\n\n', () => void connection.then((it) => it.destroy()))
    expect(await textOf(answer)).to.equal('broken off')
    const record = await over(idOf(answer))
    expect(record).to.include({
      state: 'released',
      reason: 'stream_broken',
      charged_microdollars: 0,
    })
    expect([await spent(), await holds()]).to.deep.equal([0n, 0n])
  })

  it('returns a free call if it is cut off', async () => {
    for (const state of ['broken', 'whole', 'paid']) {
      const connection = source.next()
      const answer = await begin('sample/on')
      const upstream = await connection
      expect(answer.headers['x-payment-source']).to.equal(state === 'paid' ? 'credits' : 'free')
      if (state === 'broken') upstream.destroy()
      else upstream.end('data: 1\n\n')
      await textOf(answer)
      await over(idOf(answer))
    }
    expect(await spent()).to.equal(PRICE)
  })

  it('is read to its end, charged and replayable if its caller disconnects', async () => {
    const connection = source.next()
    const answer = await begin('piped/on', { 'idempotency-key': 'left' })
    const upstream = await connection
    upstream.write('data: 1\n\n')
    await once(answer.body, 'data')
    answer.body.on('error', () => undefined)
    await client.destroy()
    await sleep(50)
    expect(await callOf(idOf(answer)), 'still at work').to.include({ state: 'held' })
    upstream.end('data: 2\n\n')
    expect(await over(idOf(answer))).to.include({ state: 'charged', charged_microdollars: 1_000 })
    client = new Client(hub().url)
    const again = await begin('piped/on', { 'idempotency-key': 'left' })
    expect(again.headers['idempotency-replayed']).to.equal('true')
    expect(await again.body.text()).to.equal('data: 1\n\ndata: 2\n\n')
    expect([await spent(), await holds()]).to.deep.equal([PRICE, 0n])
  })

  it('is refunded if its source fails after the caller disconnected', async () => {
    const connection = source.next()
    const answer = await begin('piped/on', { 'idempotency-key': 'failing' })
    answer.body.on('error', () => undefined)
    await client.destroy()
    ;(await connection).destroy()
    expect(await over(idOf(answer))).to.include({ state: 'released', reason: 'stream_broken' })
    client = new Client(hub().url)
    const next = source.next()
    let again = await begin('piped/on', { 'idempotency-key': 'failing' })
    // The attempt is recorded just before its key is free again.
    while (again.statusCode === 409) {
      await again.body.dump()
      again = await begin('piped/on', { 'idempotency-key': 'failing' })
    }
    ;(await next).end('whole')
    expect(await again.body.text(), 'what failed may be tried again').to.equal('whole')
    expect(await spent()).to.equal(PRICE)
  })

  describe('at the deadline', () => {
    it('is refunded if its source kept the caller waiting', async () => {
      const connection = source.next()
      const answer = await begin('piped/short')
      ;(await connection).write('data: 1\n\n')
      expect(await textOf(answer)).to.equal('broken off')
      expect(await over(idOf(answer))).to.include({ state: 'released', reason: 'deadline' })
      expect(await spent()).to.equal(0n)
    })

    it('is charged if its caller was too slow; no more was read than taken', async () => {
      const socket = deaf('piped/endless', { mebibytes: 200 })
      const [head] = await once(socket, 'data')
      socket.pause()
      const id = /x-call-id: (\S+)/i.exec(String(head))![1]!
      expect(await over(id)).to.include({ state: 'charged', reason: 'caller_too_slow' })
      expect(endless.mebibytes, 'MiB in buffers').to.be.below(50)
      expect([await spent(), await holds()]).to.deep.equal([PRICE, 0n])
      socket.destroy()
    })
  })

  it('is cut off and refunded beyond 256 MiB', async () => {
    const answer = await begin('piped/large', {}, { mebibytes: 300 })
    answer.body.on('error', () => undefined)
    await client.destroy()
    const record = await over(idOf(answer))
    expect(record).to.include({ state: 'released', reason: 'stream_too_large' })
    expect(endless.mebibytes).to.be.within(256, 258)
  })

  it('may cost less than reserved if its handler lowers the charge', async () => {
    const answer = await begin('piped/metered')
    expect(await answer.body.text()).to.equal('one two')
    expect(answer.trailers).to.include({ 'x-charged-microdollars': '200' })
    expect(await spent()).to.equal(200n)
  })

  it('is not sent, and refunded, if the endpoint does not declare streams', async () => {
    const answer = await begin('piped/undeclared')
    const problem = (await answer.body.json()) as Record<string, unknown>
    expect([answer.statusCode, problem['code'], problem['reason']]).to.deep.equal([
      502,
      'plugin_contract',
      'stream_not_declared',
    ])
    expect([await spent(), await holds()]).to.deep.equal([0n, 0n])
  })

  it('is paid upfront by x402 and repeatable with the same payment if cut off', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('1') })
    const offered = await ask(hub().url, '/proxy/piped/on', { body: {} })
    const [terms] = offered.body['accepts'] as { extra: object }[]
    expect(terms!.extra).to.include({ paymentFlow: 'upfront' })
    const paid = { 'payment-signature': await payFor(account, hub().url, offered) }
    const send = () =>
      client.request({
        method: 'POST',
        path: '/proxy/piped/on',
        headers: { 'content-type': 'application/json', ...paid },
        body: '{}',
      })
    const first = source.next()
    const broken = await send()
    expect(broken.headers['payment-response']).to.be.a('string')
    ;(await first).destroy()
    expect(await textOf(broken)).to.equal('broken off')
    const second = source.next()
    const whole = await send()
    ;(await second).end('data: 1\n\n')
    expect(await whole.body.text()).to.equal('data: 1\n\n')
    expect(whole.trailers).to.include({ 'x-charged-microdollars': '1000' })
    const replayed = await send()
    expect(replayed.headers['idempotency-replayed']).to.equal('true')
    expect(await replayed.body.text()).to.equal('data: 1\n\n')
    const { rows } = await hub().database.pool.query(
      `SELECT FROM ledger.journal j JOIN ledger.kind k ON k.id = j.kind
       WHERE k.event = 'call.sold'`,
    )
    expect(rows, 'sold once').to.have.length(1)
  })

  it('reports its x402 payment under an Idempotency-Key too', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('1') })
    const { apiKey } = await hub().agent()
    const offered = await ask(hub().url, '/proxy/piped/on', { body: {} })
    const begun = source.next()
    const answer = await client.request({
      method: 'POST',
      path: '/proxy/piped/on',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${apiKey}`,
        'idempotency-key': 'paid',
        'payment-signature': await payFor(account, hub().url, offered),
      },
      body: '{}',
    })
    expect(answer.headers['payment-response']).to.be.a('string')
    ;(await begun).end('data: 1\n\n')
    expect(await answer.body.text()).to.equal('data: 1\n\n')
  })

  /** Creates a caller that reads nothing. */
  function deaf(path: string, body: object): Socket {
    const { hostname, port, host } = new URL(hub().url)
    const socket = connect(Number(port), hostname)
    const text = JSON.stringify(body)
    socket.write(
      `POST /proxy/${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${ada.apiKey}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    )
    return socket
  }
})
