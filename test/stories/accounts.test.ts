import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { usd } from '../../core/money.ts'
import { type ApiResponse, ask, expectProblem } from '../support/ask.ts'
import { type Person, signIn } from '../support/person.ts'
import { useMailHub } from '../support/suite.ts'

type Key = Readonly<Record<string, unknown>>

describe('an account', () => {
  const { hub, mailbox } = useMailHub()

  let ada: Person
  let bob: Person
  before(async () => {
    ada = await signIn(hub().url, mailbox(), 'ada@example.test')
    bob = await signIn(hub().url, mailbox(), 'bob@example.test')
  })
  const post = (person: Person, path: string, body: unknown = {}) => person.ask(path, { body })
  const keysOf = async (person: Person) => (await person.ask('/v1/keys')).body['data'] as Key[]
  const idsOf = async (person: Person) => (await keysOf(person)).map(({ key_id }) => key_id)

  /** A wallet with a key, and the words to sign for the account of a person. */
  async function walletOf() {
    const account = privateKeyToAccount(generatePrivateKey())
    const wallet = { account, sandbox: true }
    const made = await new HubClient({ baseUrl: hub().url, wallet }).register()
    return { ...made, account }
  }
  type Wallet = Awaited<ReturnType<typeof walletOf>>

  async function challengeFor(person: Person, { account }: Wallet) {
    const wallet_address = account.address
    const { status, body, text } = await post(person, '/v1/account/wallets/challenge', {
      wallet_address,
    })
    expect(status, text).to.equal(201)
    return body as { nonce: string; message: string }
  }
  async function link(person: Person, wallet: Wallet): Promise<ApiResponse> {
    const { nonce, message } = await challengeFor(person, wallet)
    const signature = await wallet.account.signMessage({ message })
    return post(person, '/v1/account/wallets', { nonce, signature })
  }

  it('has keys of its own, which hold credits and spend them', async () => {
    const { status, body } = await post(ada, '/v1/keys', { name: 'desk' })
    expect(status).to.equal(201)
    const keyId = String(body['key_id'])
    await hub().credit(keyId, usd('1'))
    const key = String(body['api_key'])
    const response = await ask(hub().url, '/proxy/echo/say', { key, body: { words: 'hi' } })
    expect([response.status, response.headers['x-charged-microdollars']]).to.deep.equal([
      200,
      '100',
    ])
    const [shown] = (await keysOf(ada)).filter(({ key_id }) => key_id === keyId)
    expect(shown).to.include({ name: 'desk', wallet_address: null, balance_microdollars: 999_900 })
    const { body: wallet } = await ask(hub().url, '/v1/wallet/balance', { key })
    expect(wallet).to.include({ wallet_address: null, balance_microdollars: 999_900 })
  })

  it('manages all of its keys, and none of another account (A052)', async () => {
    const { body } = await post(ada, '/v1/keys')
    const id = String(body['key_id'])
    const child = await post(ada, '/v1/keys', { parent: id, max_total_microdollars: 5 })
    expect(child.status).to.equal(201)
    expect(await idsOf(ada)).to.include.members([id, child.body['key_id']])
    expect(await idsOf(bob)).to.deep.equal([])
    for (const [method, path, order] of [
      ['PATCH', `/v1/keys/${id}`, { name: 'mine' }],
      ['DELETE', `/v1/keys/${id}`, undefined],
      ['POST', `/v1/keys/${id}/rotate`, {}],
      ['POST', `/v1/keys/${id}/freeze`, { reason: 'mine' }],
      ['POST', '/v1/keys', { parent: id }],
    ] as const) {
      const response = await bob.ask(path, { method, ...(order && { body: order }) })
      expectProblem(response, 404, 'not_found')
    }
    const rotated = await post(ada, `/v1/keys/${id}/rotate`)
    expect(rotated.body).to.have.property('api_key').that.is.not.equal(body['api_key'])
    expect((await ada.ask(`/v1/keys/${id}`, { method: 'DELETE' })).status).to.equal(200)
  })

  it('limits a main key only by its credits', async () => {
    expectProblem(
      await post(ada, '/v1/keys', { max_day_microdollars: 1 }),
      422,
      'validation_failed',
    )
  })

  it('cannot call or administer with its session', async () => {
    for (const path of ['/v1/credits/balance', '/v1/wallet/balance']) {
      expectProblem(await ada.ask(path), 401, 'invalid_api_key')
    }
    expectProblem(await ada.ask('/v1/finance/wallets'), 403, 'finance_only')
    expectProblem(await ada.ask('/v1/admin/roles'), 403, 'admin_only')
  })

  it('manages the keys of a wallet that agreed, without moving their rows', async () => {
    const wallet = await walletOf()
    await hub().credit(wallet.keyId, usd('2'))
    const rows = async () => {
      const { pool } = hub().hub
      const key = await pool.query(
        `SELECT to_jsonb(k) - 'used_at' AS key, to_jsonb(p) AS principal
         FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal WHERE k.id = $1`,
        [wallet.keyId],
      )
      const credits = await pool.query(
        `SELECT a.id, a.home, b.balance
         FROM ledger.account a JOIN ledger.balance b ON b.account = a.id WHERE a.code = $1`,
        [creditsOf(wallet.keyId)],
      )
      return [key.rows, credits.rows]
    }
    const before = await rows()
    const linked = await link(ada, wallet)
    expect([linked.status, linked.body['wallet_address']]).to.deep.equal([
      201,
      wallet.account.address,
    ])
    expect(await rows()).to.deep.equal(before)
    const [shown] = (await keysOf(ada)).filter(({ key_id }) => key_id === wallet.keyId)
    expect(shown).to.include({
      wallet_address: wallet.account.address,
      balance_microdollars: 2_000_000,
    })
    const renamed = { method: 'PATCH', body: { name: 'of the wallet' } }
    expect((await ada.ask(`/v1/keys/${wallet.keyId}`, renamed)).status).to.equal(200)
    expectProblem(await bob.ask(`/v1/keys/${wallet.keyId}`, renamed), 404, 'not_found')
    const { body } = await ada.ask('/v1/account')
    const wallets = body['wallets'] as Key[]
    expect(wallets.map(({ wallet_address }) => wallet_address)).to.include(wallet.account.address)
  })

  it('lets the wallet move to another account, or leave', async () => {
    const wallet = await walletOf()
    await link(ada, wallet)
    await link(bob, wallet)
    expect(await idsOf(ada)).to.not.include(wallet.keyId)
    expect(await idsOf(bob)).to.include(wallet.keyId)
    const path = `/v1/account/wallets/${wallet.account.address}`
    expectProblem(await ada.ask(path, { method: 'DELETE' }), 404, 'not_found')
    expect((await bob.ask(path, { method: 'DELETE' })).status).to.equal(200)
    expect(await idsOf(bob)).to.not.include(wallet.keyId)
    const { status } = await ask(hub().url, '/v1/credits/balance', { key: wallet.apiKey })
    expect(status, 'its keys work on').to.equal(200)
  })

  it('gets a wallet only by its signature for this account, once', async () => {
    const [wallet, other] = [await walletOf(), await walletOf()]
    const { nonce, message } = await challengeFor(ada, wallet)
    expect(message).to.include('ada@example.test').and.include(wallet.account.address)
    const wrong = await other.account.signMessage({ message })
    const right = await wallet.account.signMessage({ message })
    const send = (person: Person, body: object) => post(person, '/v1/account/wallets', body)
    expectProblem(await send(ada, { nonce, signature: wrong }), 401, 'invalid_signature')
    expectProblem(await send(bob, { nonce, signature: right }), 400, 'nonce_unknown')
    const { body: challenge } = await ask(hub().url, '/v1/register/challenge')
    const registering = await wallet.account.signMessage({ message: String(challenge['message']) })
    const registration = { nonce: challenge['nonce'], signature: registering }
    expectProblem(await send(ada, registration), 400, 'nonce_unknown')
    const reverse = { nonce, signature: right, wallet_address: wallet.account.address }
    expectProblem(await ask(hub().url, '/v1/register', { body: reverse }), 400, 'nonce_unknown')
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => send(ada, { nonce, signature: right })),
    )
    const statuses = responses.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).to.deep.equal([201, ...Array.from({ length: 9 }, () => 409)])
  })
})
