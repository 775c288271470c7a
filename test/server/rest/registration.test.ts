import { expect } from 'chai'
import { getAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

describe('registration', () => {
  const hub = useHub()
  const wallet = () => privateKeyToAccount(generatePrivateKey())
  const challenge = (query = '') => ask(hub().url, `/v1/register/challenge${query}`)
  const register = (body: unknown) => ask(hub().url, '/v1/register', { body })

  async function signed(account = wallet(), query = '') {
    const { body } = await challenge(query)
    const { nonce, message } = body as { nonce: string; message: string }
    const signature = await account.signMessage({ message })
    return { wallet_address: account.address as string, signature, nonce }
  }

  const refused = ({ status, body }: ApiResponse, expected: number, code: string): void => {
    expect(body['code'], JSON.stringify(body)).to.equal(code)
    expect(status).to.equal(expected)
  }

  it('returns a nonce and the exact ERC-4361 message to sign', async () => {
    const { status, body } = await challenge()
    expect(status).to.equal(200)
    expect(body).to.have.all.keys('nonce', 'message', 'expires_at')
    const message = String(body['message'])
    expect(message).to.include(`Nonce: ${String(body['nonce'])}`)
    expect(message).to.include(`${new URL(hub().url).host} wants you to sign in`)
    expect(message).to.include('Chain ID: 8453')
    expect(message).to.include(`Expiration Time: ${String(body['expires_at'])}`)
  })

  it('returns a key that works immediately and is shown only once', async () => {
    const order = await signed()
    const { status, body } = await register(order)
    expect(status).to.equal(201)
    expect(body).to.have.all.keys('api_key', 'key_id', 'wallet_address')
    expect(body['wallet_address']).to.equal(order.wallet_address)
    expect(body['api_key']).to.match(/^ahk_[0-9A-Za-z]{49}$/)
    const { status: used } = await ask(hub().url, '/v1/credits/balance', {
      key: String(body['api_key']),
    })
    expect(used).to.equal(200)
    const { rows } = await hub().hub.pool.query<{ kept: string }>(
      `SELECT k::text || s::text AS kept
       FROM hub.api_key k JOIN hub.key_secret s ON s.key = k.id WHERE k.id = $1`,
      [body['key_id']],
    )
    expect(rows[0]?.kept).to.be.a('string').and.not.include(String(body['api_key']).slice(12))
  })

  it('accepts a body that repeats the message, and verifies its own', async () => {
    const account = wallet()
    const { body } = await challenge()
    const { nonce } = body as { nonce: string }
    const order = { wallet_address: account.address, nonce }
    const other = {
      ...order,
      message: 'another',
      signature: await account.signMessage({ message: 'another' }),
    }
    expect((await register(other)).status, 'another message').to.equal(401)
    const again = await challenge()
    const text = String(again.body['message'])
    const signature = await account.signMessage({ message: text })
    const echoed = { ...order, nonce: again.body['nonce'], message: text, signature }
    expect((await register(echoed)).status).to.equal(201)
  })

  it('creates another key for the same wallet and principal', async () => {
    const account = wallet()
    const [one, two] = [
      await register(await signed(account)),
      await register(await signed(account)),
    ]
    const ids = [one.body['key_id'], two.body['key_id']]
    expect(new Set(ids).size).to.equal(2)
    const { rows } = await hub().hub.pool.query(
      'SELECT DISTINCT principal FROM hub.api_key WHERE id = ANY ($1)',
      [ids],
    )
    expect(rows).to.have.length(1)
  })

  it('accepts mixed-case addresses only with a valid checksum (A048)', async () => {
    const account = wallet()
    const lower = account.address.toLowerCase()
    const upper = `0x${lower.slice(2).toUpperCase()}`
    for (const wallet_address of [lower, upper, account.address]) {
      const { status, body } = await register({ ...(await signed(account)), wallet_address })
      expect(status, wallet_address).to.equal(201)
      expect(body['wallet_address']).to.equal(getAddress(lower))
    }
    const flip = (c: string) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())
    const i = account.address.slice(2).search(/[a-f]/i) + 2
    const { address } = account
    const wrong = address.slice(0, i) + flip(address[i]!) + address.slice(i + 1)
    refused(await register({ ...(await signed(account)), wallet_address: wrong }), 422, INVALID)
  })

  it('creates one key for twenty concurrent uses of a nonce (A043)', async () => {
    const order = await signed()
    const responses = await Promise.all(Array.from({ length: 20 }, () => register(order)))
    const statuses = responses.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).to.deep.equal([201, ...Array.from({ length: 19 }, () => 409)])
    const { rows } = await hub().hub.pool.query(
      `SELECT count(*)::integer AS keys FROM hub.api_key k JOIN hub.principal p
         ON p.id = k.principal WHERE p.wallet_address = $1`,
      [order.wallet_address.toLowerCase()],
    )
    expect(rows).to.deep.equal([{ keys: 1 }])
    refused(await register(order), 409, 'nonce_used')
  })

  it('rejects a signature of another wallet or message (A046)', async () => {
    const [order, other] = [await signed(), await signed()]
    refused(await register({ ...order, signature: other.signature }), 401, SIGNATURE)
    refused(await register({ ...order, wallet_address: other.wallet_address }), 401, SIGNATURE)
    const flipped = order.signature.replace(/..$/, (v) => (v === '1b' ? '1c' : '1b'))
    refused(await register({ ...order, signature: flipped }), 401, SIGNATURE)
    expect((await register(order)).status, 'the nonce is still good').to.equal(201)
  })

  it('rejects malformed signatures (A047)', async () => {
    const order = await signed()
    const curve = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'
    const [r, s, v] = [order.signature.slice(2, 66), order.signature.slice(66, 130), '1b']
    const zero = '0'.repeat(64)
    const malformed = [
      ['0x', ''],
      ['64 bytes', r + s],
      ['66 bytes', `${r}${s}${v}00`],
      ['r = 0', zero + s + v],
      ['s = 0', r + zero + v],
      ['r = n', curve + s + v],
      ['s = n', r + curve + v],
      ['v = 29', `${r}${s}1d`],
      ['not hex', 'zz'.repeat(65)],
      ['200 KB', '00'.repeat(100_000)],
    ] as const
    for (const [name, digits] of malformed) {
      const response = await register({ ...order, signature: `0x${digits}` })
      expect(response.body['code'], name).to.equal(INVALID)
      expect(response.status, name).to.equal(422)
    }
    expect((await register(order)).status, 'the nonce is still good').to.equal(201)
  })

  it('binds a challenge to its address', async () => {
    const [ada, bob] = [wallet(), wallet()]
    const response = await challenge(`?wallet_address=${ada.address}`)
    expect(String(response.body['message'])).to.include(ada.address)
    const { nonce, message } = response.body as { nonce: string; message: string }
    const stolen = { nonce, signature: await bob.signMessage({ message }) }
    refused(await register({ ...stolen, wallet_address: bob.address }), 401, SIGNATURE)
    const own = { nonce, signature: await ada.signMessage({ message }) }
    expect((await register({ ...own, wallet_address: ada.address })).status).to.equal(201)
    refused(await challenge('?wallet_address=0x12'), 422, INVALID)
    refused(await challenge('?wallet=0x12'), 422, INVALID)
  })

  it('rejects unknown and expired nonces (A044, A045)', async () => {
    const order = await signed()
    refused(await register({ ...order, nonce: 'x'.repeat(24) }), 400, 'nonce_unknown')
    await hub().hub.pool.query(
      `UPDATE hub.challenge SET expires_at = now() - interval '1 s' WHERE nonce = $1`,
      [order.nonce],
    )
    refused(await register(order), 410, 'nonce_expired')
  })

  it('rejects malformed input with its issues', async () => {
    const order = await signed()
    const broken: readonly unknown[] = [
      {},
      [],
      'text',
      { ...order, wallet_address: 7 },
      { ...order, wallet_address: `${order.wallet_address}00` },
      { ...order, signature: order.signature.slice(0, 20) },
      { ...order, signature: `0x${'zz'.repeat(65)}` },
      { ...order, nonce: '' },
      { ...order, nonce: `${'x'.repeat(20)}\0` },
      { ...order, extra: true },
    ]
    for (const body of broken) {
      const response = await register(typeof body === 'string' ? JSON.stringify(body) : body)
      refused(response, 422, INVALID)
      expect(response.body['issues'], JSON.stringify(body)).to.be.an('array').that.is.not.empty
    }
  })
})

const INVALID = 'validation_failed'
const SIGNATURE = 'invalid_signature'
