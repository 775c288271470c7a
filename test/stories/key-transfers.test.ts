import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { freezeKey } from '../../core/identity/key-state.ts'
import { usd } from '../../core/money.ts'
import { ask, expectProblem } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'

describe('key-to-key transfers', () => {
  const hub = useHub()
  const account = privateKeyToAccount(generatePrivateKey())
  const register = (from = account) =>
    new HubClient({ baseUrl: hub().url, wallet: { account: from, sandbox: true } }).register()
  type Root = Awaited<ReturnType<typeof register>>
  let [one, two] = [{} as Root, {} as Root]
  beforeEach(async () => {
    ;[one, two] = [await register(), await register()]
    await hub().credit(one.keyId, usd('1'))
  })

  const order = (amount: number, from = one.keyId, to = two.keyId) => ({
    from_key_id: from,
    to_key_id: to,
    amount_microdollars: amount,
  })
  const request = (body: object, key = one.apiKey) =>
    ask(hub().url, '/v1/credits/transfers/challenge', { key, body })
  async function signed(body: object, by = account) {
    const response = await request(body)
    expect(response.status, response.text).to.equal(201)
    const { nonce, message } = response.body as { nonce: string; message: string }
    return { nonce, signature: await by.signMessage({ message }), message }
  }
  const send = ({ nonce, signature }: { nonce: string; signature: string }, key = one.apiKey) =>
    ask(hub().url, '/v1/credits/transfers', { key, body: { nonce, signature } })
  const balances = async () => [await hub().balance(one.keyId), await hub().balance(two.keyId)]

  it('happen once per signature, however often it is sent', async () => {
    const challenge = await signed(order(250_000))
    expect(challenge.message).to.include(
      `Move 0.250000 USD of credits from key ${one.keyId} to key ${two.keyId}.`,
    )
    const responses = await Promise.all(Array.from({ length: 20 }, () => send(challenge)))
    expect(new Set(responses.map(({ status }) => status))).to.deep.equal(new Set([201]))
    expect(new Set(responses.map(({ body }) => body['transfer_id'])).size).to.equal(1)
    expect(await balances()).to.deep.equal([usd('0.75'), usd('0.25')])
    await hub().hub.pool.query('UPDATE hub.challenge SET expires_at = now() WHERE nonce = $1', [
      challenge.nonce,
    ])
    const late = await send(challenge)
    expect([late.status, late.body]).to.deep.equal([201, responses[0]?.body])
    expect(await balances()).to.deep.equal([usd('0.75'), usd('0.25')])
  })

  it('appear in the history of both keys', async () => {
    const { body } = await send(await signed(order(300_000)))
    for (const [key, other, change] of [
      [one, two, -300_000],
      [two, one, 300_000],
    ] as const) {
      const history = await ask(hub().url, '/v1/credits/history?event=credits.transferred', {
        key: key.apiKey,
      })
      const rows = history.body['data'] as Record<string, unknown>[]
      expect(rows).to.have.length(1)
      expect(rows[0]).to.include({
        id: body['transfer_id'],
        change_microdollars: change,
        other_key_id: other.keyId,
      })
    }
  })

  it('never exceed the balance or the signed terms', async () => {
    const challenge = await signed(order(1_000_001))
    expectProblem(await send(challenge), 402, 'insufficient_credits')
    expect(await balances()).to.deep.equal([usd('1'), 0n])
    await hub().credit(one.keyId, 1n)
    expect((await send(challenge)).status, 'it can still be paid').to.equal(201)
    expect(await balances()).to.deep.equal([0n, 1_000_001n])
  })

  it('move no microdollar twice when concurrent', async () => {
    const challenges = []
    for (let i = 0; i < 8; i++) challenges.push(await signed(order(200_000)))
    const responses = await Promise.all(challenges.map((challenge) => send(challenge)))
    expect(responses.filter(({ status }) => status === 201)).to.have.length(5)
    expect(responses.filter(({ status }) => status === 402)).to.have.length(3)
    expect(await balances()).to.deep.equal([0n, usd('1')])
  })

  it('require a fresh signature of the wallet for this transfer', async () => {
    const mallory = privateKeyToAccount(generatePrivateKey())
    const [small, large] = [await signed(order(1)), await signed(order(999_999))]
    expectProblem(await send(await signed(order(5), mallory)), 401, 'invalid_signature')
    const swapped = { nonce: large.nonce, signature: small.signature }
    expectProblem(await send(swapped), 401, 'invalid_signature')
    expectProblem(await send({ ...small, nonce: 'x'.repeat(24) }), 400, 'nonce_unknown')
    await hub().hub.pool.query('UPDATE hub.challenge SET expires_at = now() WHERE nonce = $1', [
      small.nonce,
    ])
    expectProblem(await send(small), 410, 'nonce_expired')
    expect(await balances()).to.deep.equal([usd('1'), 0n])
  })

  it('are possible only between main keys of one wallet', async () => {
    const stranger = await register(privateKeyToAccount(generatePrivateKey()))
    const response = await ask(hub().url, '/v1/keys', { key: one.apiKey, body: {} })
    const child = String(response.body['key_id'])
    expectProblem(await request(order(1, one.keyId, stranger.keyId)), 404, 'not_found')
    expectProblem(await request(order(1, stranger.keyId, one.keyId)), 404, 'not_found')
    expectProblem(await request(order(1), stranger.apiKey), 404, 'not_found')
    expectProblem(await request(order(1), String(response.body['api_key'])), 404, 'not_found')
    expectProblem(await request(order(1, one.keyId, child)), 422, 'validation_failed')
    expectProblem(await request(order(1, one.keyId, one.keyId)), 422, 'validation_failed')
    for (const amount of [0, -1, 1.5, 9_007_199_254_740_992]) {
      expectProblem(await request(order(amount)), 422, 'validation_failed')
    }
  })

  it('rescue credits that reach a revoked key, but cannot send to one', async () => {
    const revoked = `/v1/keys/${one.keyId}?credits_to=${two.keyId}`
    await ask(hub().url, revoked, { key: one.apiKey, method: 'DELETE' })
    expect(await balances(), 'moved with the revocation').to.deep.equal([0n, usd('1')])
    await hub().credit(one.keyId, usd('1'))
    const { status, body, text } = await request(order(1_000_000), two.apiKey)
    expect(status, text).to.equal(201)
    const { nonce, message } = body as { nonce: string; message: string }
    const signature = await account.signMessage({ message })
    expect((await send({ nonce, signature }, two.apiKey)).status).to.equal(201)
    expect(await balances()).to.deep.equal([0n, usd('2')])
    expectProblem(await request(order(1, two.keyId, one.keyId), two.apiKey), 404, 'not_found')
  })

  it('do not involve frozen keys, even if signed before', async () => {
    const [done, from, to] = [
      await signed(order(100_000)),
      await signed(order(200_000)),
      await signed(order(1, two.keyId, one.keyId)),
    ]
    const first = await send(done, two.apiKey)
    await freezeKey(hub().hub.pool, one.keyId, 'administrator', 'stolen')
    expectProblem(await send(from, two.apiKey), 403, 'frozen_key')
    expectProblem(await send(to, two.apiKey), 403, 'frozen_key')
    expect((await send(done, two.apiKey)).body, 'it was done before').to.deep.equal(first.body)
    expect(await balances()).to.deep.equal([usd('0.9'), usd('0.1')])
  })
})
