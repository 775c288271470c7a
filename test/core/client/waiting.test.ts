import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import { type ClientWait, HubClient, HubError, HubUnreachable } from '../../../core/client/index.ts'
import { USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { type Listening, listen } from '../../server/http.ts'

/** Reaction of the server to one request: a response, or a reset of the connection. */
type Step =
  | 'reset'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: object }

const SOON = { 'retry-after': '0', 'x-request-id': 'req_1' }
const inProgress: Step = {
  status: 409,
  headers: SOON,
  body: { code: 'idempotency_in_progress', title: 'First request in progress' },
}
const done: Step = {
  status: 200,
  headers: {
    'x-request-id': 'req_1',
    'x-charged-microdollars': '0',
    'x-charged-earlier-microdollars': '1400',
    'idempotency-replayed': 'true',
  },
  body: { done: true },
}

describe('the client waits for a response', () => {
  let server: Listening
  let steps: Step[] = []
  let requests = 0
  let waits: ClientWait[] = []
  let payments: unknown[] = []

  before(async () => {
    server = await listen((request, response) => {
      if (request.url === '/health') return response.end('{"sandbox":true}')
      requests++
      payments.push(request.headers['payment-signature'])
      const step = steps.shift() ?? 'reset'
      if (step === 'reset') return request.socket.destroy()
      const { status, headers = {}, body = {} } = step
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify(body))
    })
  })
  beforeEach(() => {
    requests = 0
    waits = []
    payments = []
  })
  after(() => server.close())

  const call = (idempotencyKey?: string, waitMs = 5_000) =>
    new HubClient({
      baseUrl: `http://127.0.0.1:${server.port}`,
      waitMs,
      onWait: (wait) => waits.push(wait),
    }).call('echo', '/say', {}, { idempotencyKey })
  const failure = (sent: Promise<unknown>) => sent.catch((error: unknown) => error)

  it('that is in progress, lost or refused for a moment, and reports its charge once', async () => {
    const busy: Step = { status: 503, headers: SOON, body: { code: 'service_unavailable' } }
    const pending: Step = {
      status: 202,
      headers: { ...SOON, 'content-type': 'application/problem+json' },
      body: { code: 'payment_pending' },
    }
    const gateway: Step = { status: 502, body: {} }
    steps = ['reset', gateway, inProgress, inProgress, inProgress, inProgress, busy, pending, done]
    const { body, charged } = await call('one')
    expect([body, charged, requests]).to.deep.equal([{ done: true }, 1_400n, 9])
    expect(waits.map(({ reason }) => reason)).to.include.members([
      'The hub does not respond',
      'First request in progress',
    ])
  })

  it('but returns one with a receipt at once, whatever its status', async () => {
    const headers = { ...SOON, 'x-receipt': 'signed', 'x-charged-microdollars': '900' }
    for (const status of [202, 429]) {
      steps = [{ status, headers, body: { code: 'queued' } }]
      const error = (await failure(call('one'))) as { readonly charged: bigint }
      expect(error.charged).to.equal(900n)
      expect([steps, waits]).to.deep.equal([[], []])
    }
  })

  it('by the seconds of Retry-After, and gives up if they exceed the time left', async () => {
    const headers = { ...SOON, 'retry-after': '60' }
    steps = [{ status: 429, headers, body: { code: 'rate_limited' } }]
    expect(await failure(call('one')))
      .to.be.instanceOf(HubError)
      .with.property('status', 429)
    expect([requests, waits]).to.deep.equal([1, []])
  })

  it('no longer than the given time', async () => {
    steps = []
    expect(await failure(call('one', 600))).to.be.instanceOf(HubUnreachable)
    expect(requests).to.equal(2)
  })

  it('of a payment by sending the same payment, never a second one', async () => {
    const { network, address, name, version } = USDC_BASE
    const account = privateKeyToAccount(generatePrivateKey())
    const accepts = {
      scheme: 'exact',
      network,
      asset: address,
      amount: '1000',
      payTo: privateKeyToAddress(generatePrivateKey()),
      maxTimeoutSeconds: 60,
      extra: { name, version },
    }
    const offer = { x402Version: 2, resource: { url: 'http://127.0.0.1/x' }, accepts: [accepts] }
    const header = Buffer.from(JSON.stringify(offer)).toString('base64')
    const inUse = { ...inProgress, body: { code: 'payment_in_progress' } }
    const demand: Step = { status: 402, headers: { 'payment-required': header } }
    steps = [demand, 'reset', inUse, inUse, done]
    const baseUrl = `http://127.0.0.1:${server.port}`
    const client = new HubClient({ baseUrl, wallet: { account, sandbox: true } })
    const { charged } = await client.call('echo', '/say', {}, { payUpTo: 1_000n })
    const [unpaid, first, ...more] = payments
    expect([unpaid, charged]).to.deep.equal([undefined, 1_400n])
    expect(more).to.deep.equal([first, first, first])
    const kept: Step = {
      status: 502,
      headers: { ...SOON, 'x-refund-reason': 'plugin_failed' },
      body: { code: 'plugin_failed', payment: { state: 'kept' } },
    }
    steps = [demand, kept]
    const failed = await failure(client.call('echo', '/say', {}, { payUpTo: 1_000n }))
    const { payment } = failed as HubError
    expect(payment, 'it pays for another attempt').to.deep.equal({
      'payment-signature': payments.at(-1),
    })
  })

  it('only if it is charged once: without a key a request is sent once', async () => {
    steps = [inProgress, done]
    expect(await failure(call()))
      .to.be.instanceOf(HubError)
      .with.property('status', 409)
    expect(requests).to.equal(1)
  })

  it('but not after a failure that ends the attempt', async () => {
    for (const step of [
      { status: 503, headers: { ...SOON, 'x-refund-reason': 'plugin_unavailable' } },
      { status: 502, headers: { 'x-request-id': 'req_1' } },
      { status: 410, headers: SOON },
      { status: 402, headers: SOON },
    ]) {
      requests = 0
      steps = [step, done]
      expect(await failure(call('one'))).to.be.instanceOf(HubError)
      expect(requests, String(step.status)).to.equal(1)
    }
  })
})
