import { randomBytes } from 'node:crypto'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import {
  createSIWxPayload,
  encodeSIWxHeader,
  SIGN_IN_WITH_X,
  type SIWxExtension,
  type SIWxPayload,
  wrapFetchWithSIWx,
} from '@x402/extensions/sign-in-with-x'
import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { useSignIn } from '../../core/payments/receiving/use-sign-in.ts'
import { type ApiResponse, ask } from '../support/ask.ts'
import { useHub } from '../support/suite.ts'
import { countingService, PRICE, resetWork, work } from './counted-service.ts'

const PATH = '/proxy/counted/work'
const CREDITS = usd('0.01')

describe('a wallet that signs the challenge of a 402', () => {
  const hub = useHub({ plugins: [countingService] })
  let account: ReturnType<typeof privateKeyToAccount>
  let key: { readonly keyId: string; readonly apiKey: string }
  beforeEach(async () => {
    resetWork()
    account = privateKeyToAccount(generatePrivateKey())
    key = await register()
    await hub().credit(key.keyId, CREDITS)
  })

  const register = (from = account) =>
    new HubClient({ baseUrl: hub().url, wallet: { account: from, sandbox: true } }).register()
  const call = (signIn?: string, body: object = {}, path = PATH, method = 'POST') =>
    ask(hub().url, path, {
      method,
      body,
      headers: signIn === undefined ? {} : { [SIGN_IN_WITH_X]: signIn },
    })
  const challengeOf = ({ headers }: ApiResponse): SIWxExtension => {
    const required = decodePaymentRequiredHeader(String(headers['payment-required']))
    return required.extensions![SIGN_IN_WITH_X] as SIWxExtension
  }
  async function payload(info: object = {}, from = account): Promise<SIWxPayload> {
    const challenge = challengeOf(await call())
    const chain = challenge.supportedChains[0]!
    return createSIWxPayload({ ...challenge.info, ...chain, ...info }, from, hub().url)
  }
  const signed = async (info?: object, from?: typeof account) =>
    encodeSIWxHeader(await payload(info, from))
  const spent = async () => CREDITS - (await hub().balance(key.keyId))

  /** Expects a 402 that names the reason, and that nothing was charged. */
  async function refused(response: ApiResponse, reason: string): Promise<void> {
    expect([response.status, response.body['sign_in_refused']]).to.deep.equal([402, reason])
    expect(response.body).to.not.have.property('available_microdollars')
    expect(work.done).to.equal(0)
    expect(await spent()).to.equal(0n)
  }

  it('spends its credits, with the client of the package, as with its main key', async () => {
    const paying = wrapFetchWithSIWx(fetch, account)
    const response = await paying(new URL(PATH, hub().url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"text":"hello"}',
    })
    expect([response.status, await response.json()]).to.deep.equal([200, { done: 1 }])
    expect(response.headers.get('x-charged-microdollars')).to.equal(String(PRICE))
    expect(await spent()).to.equal(PRICE)
    const id = response.headers.get('x-call-id')
    const { body } = await ask(hub().url, `/v1/calls/${id}`, { key: key.apiKey })
    expect(body).to.include({ source: 'credits', charged_microdollars: Number(PRICE) })
  })

  it('gets a fresh challenge with each 402, for this domain, request and chain', async () => {
    const one = challengeOf(await call())
    const two = challengeOf(await call())
    expect(one.info.nonce).to.not.equal(two.info.nonce)
    expect(one.info).to.include({ domain: new URL(hub().url).host, uri: hub().url + PATH })
    expect(one.supportedChains).to.deep.equal([{ chainId: 'eip155:8453', type: 'eip191' }])
    const lifetime = Date.parse(one.info.expirationTime!) - Date.parse(one.info.issuedAt)
    expect(lifetime).to.equal(300_000)
  })

  it('uses each challenge once', async () => {
    const header = await signed()
    expect(await call(header)).to.have.property('status', 200)
    const again = await call(header)
    expect([again.status, again.body['sign_in_refused']]).to.deep.equal([402, 'invalid_siwx_nonce'])
    expect([work.done, await spent()]).to.deep.equal([1, PRICE])
  })

  it('is charged once for 20 concurrent uses of one challenge', async () => {
    const header = await signed()
    const all = await Promise.all(Array.from({ length: 20 }, () => call(header)))
    const statuses = all.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).to.deep.equal([200, ...Array.from({ length: 19 }, () => 402)])
    expect([work.done, await spent()]).to.deep.equal([1, PRICE])
  })

  it('uses each challenge once on any number of servers', async () => {
    const { pool } = hub().hub
    const wallet = account.address.toLowerCase()
    const signIn = { wallet, nonce: randomBytes(32), expiresAt: new Date(Date.now() + 60_000) }
    const uses = await Promise.all(Array.from({ length: 20 }, () => useSignIn(pool, signIn)))
    expect(uses.filter((use) => use !== 'used')).to.have.length(1)
    expect(uses.find((use) => use !== 'used')).to.include({ keyId: key.keyId, wallet })
    const late = { ...signIn, nonce: randomBytes(32), expiresAt: new Date(Date.now() - 1_000) }
    expect(await useSignIn(pool, late), 'expired on the clock of the database').to.equal('used')
  })

  it('checks the signature of each challenge once', async () => {
    const sent = await payload()
    const bad = encodeSIWxHeader({ ...sent, signature: `0x${'11'.repeat(65)}` })
    await refused(await call(bad), 'invalid_siwx_signature')
    await refused(await call(encodeSIWxHeader(sent)), 'invalid_siwx_nonce')
  })

  it('sees its credits if they do not suffice, and nobody else does', async () => {
    const poor = privateKeyToAccount(generatePrivateKey())
    const { keyId } = await register(poor)
    await hub().credit(keyId, 7n)
    const { status, body } = await call(await signed({}, poor))
    expect([status, body['code']]).to.deep.equal([402, 'insufficient_credits'])
    expect(body).to.include({ available_microdollars: 7 })
    expect((await call()).body).to.not.have.property('available_microdollars')
  })

  it('is anonymous without an account', async () => {
    const stranger = privateKeyToAccount(generatePrivateKey())
    const response = await call(await signed({}, stranger))
    expect(response.body).to.include({ code: 'payment_required', sign_in_refused: 'no_account' })
    const { rows } = await hub().hub.pool.query(
      'SELECT FROM hub.principal WHERE wallet_address = $1',
      [stranger.address.toLowerCase()],
    )
    expect(rows).to.have.length(0)
  })

  describe('is refused, and charged nothing, with', () => {
    const ALTERED: Readonly<Record<string, (signature: string) => string>> = {
      'a flipped digit': (text) =>
        text.slice(0, 20) + (text[20] === '0' ? '1' : '0') + text.slice(21),
      'other bytes': () => `0x${'11'.repeat(65)}`,
    }
    for (const [name, alter] of Object.entries(ALTERED)) {
      it(`an altered signature: ${name}`, async () => {
        const sent = await payload()
        const header = encodeSIWxHeader({ ...sent, signature: alter(sent.signature) })
        await refused(await call(header), 'invalid_siwx_signature')
      })
    }

    it('a signature that is none', async () => {
      const header = encodeSIWxHeader({ ...(await payload()), signature: '0x' })
      await refused(await call(header), 'invalid_siwx_malformed_signature')
    })

    it('the address of another wallet', async () => {
      const thief = privateKeyToAccount(generatePrivateKey())
      const sent = await payload({}, thief)
      const header = encodeSIWxHeader({ ...sent, address: account.address })
      await refused(await call(header), 'invalid_siwx_signature')
    })

    it('another domain', async () => {
      const header = encodeSIWxHeader({ ...(await payload()), domain: 'evil.example' })
      await refused(await call(header), 'invalid_siwx_domain_mismatch')
    })

    it('another chain', async () => {
      await refused(
        await call(await signed({ chainId: 'eip155:1' })),
        'invalid_siwx_unsupported_chain',
      )
    })

    it('a nonce that was never issued, though the wallet signed it', async () => {
      await refused(await call(await signed({ nonce: 'ab'.repeat(32) })), 'invalid_siwx_nonce')
      await refused(await call(await signed({ nonce: 'abcdefgh12345678' })), 'invalid_siwx_nonce')
    })

    it('a lifetime or statement other than the issued one', async () => {
      const expirationTime = new Date(Date.now() + 3_600_000).toISOString()
      await refused(await call(await signed({ expirationTime })), 'invalid_siwx_nonce')
      await refused(await call(await signed({ statement: 'Other.' })), 'invalid_siwx_nonce')
      const requestId = 'other'
      await refused(await call(await signed({ requestId })), 'invalid_siwx_nonce')
    })

    it('a time in the past or in the future', async () => {
      const past = new Date(Date.now() - 301_000).toISOString()
      await refused(await call(await signed({ issuedAt: past })), 'invalid_siwx_issued_at_too_old')
      const future = new Date(Date.now() + 60_000).toISOString()
      await refused(
        await call(await signed({ issuedAt: future })),
        'invalid_siwx_issued_at_in_future',
      )
      const ended = new Date(Date.now() - 1).toISOString()
      await refused(await call(await signed({ expirationTime: ended })), 'invalid_siwx_expired')
    })

    it('another body, query or path than the challenge was issued for', async () => {
      await refused(await call(await signed(), { text: 'other' }), 'invalid_siwx_nonce')
      await refused(await call(await signed(), {}, `${PATH}?text=other`), 'invalid_siwx_nonce')
      await refused(
        await call(await signed(), { words: 'hello' }, '/proxy/echo/say'),
        'invalid_siwx_uri_mismatch',
      )
    })

    for (const header of [
      '%%%',
      'e30=',
      Buffer.from('[1]').toString('base64'),
      'A'.repeat(4_100),
    ]) {
      it(`a header that cannot be parsed: ${header.slice(0, 10)}`, async () => {
        await refused(await call(header), 'invalid_siwx_header')
      })
    }

    it('a header of 100 kB, which no server reads', async () => {
      expect(await call('A'.repeat(100_000))).to.have.property('status', 431)
      expect([work.done, await spent()]).to.deep.equal([0, 0n])
    })

    it('a revoked key', async () => {
      const header = await signed()
      await ask(hub().url, `/v1/keys/${key.keyId}`, { method: 'DELETE', key: key.apiKey })
      const { status, body } = await call(header)
      expect([status, body['sign_in_refused']]).to.deep.equal([402, 'no_account'])
      expect(work.done).to.equal(0)
    })

    it('a frozen key', async () => {
      const header = await signed()
      await hub().hub.pool.query(
        `UPDATE hub.api_key SET frozen_at = now(), frozen_by = 'administrator',
         frozen_reason = 'test' WHERE id = $1`,
        [key.keyId],
      )
      const { status, body } = await call(header)
      expect([status, body['code']]).to.deep.equal([403, 'frozen_key'])
      expect(work.done).to.equal(0)
    })
  })

  it('is not read beside a key, and is not used then', async () => {
    const header = await signed()
    const options = { key: 'ahk_none', body: {}, headers: { [SIGN_IN_WITH_X]: header } }
    expect(await ask(hub().url, PATH, options)).to.have.property('status', 401)
    expect(await call(header)).to.have.property('status', 200)
  })

  it('is refused if its expiry is none that the database would issue', async () => {
    const { pool } = hub().hub
    for (const ms of [-60_000, 86_400_000]) {
      const expiresAt = new Date(Date.now() + ms)
      const signIn = { wallet: account.address.toLowerCase(), nonce: randomBytes(32), expiresAt }
      expect(await useSignIn(pool, signIn), `${ms} ms`).to.equal('used')
    }
  })

  it('leaves no nonce that the database would accept twice or for long', async () => {
    await call(await signed())
    const { pool } = hub().hub
    const repeat = `INSERT INTO hub.used_sign_in (nonce, expires_at)
      SELECT nonce, expires_at FROM hub.used_sign_in LIMIT 1`
    const long = `INSERT INTO hub.used_sign_in (nonce, expires_at)
      VALUES (sha256('x'), now() + interval '1 hour')`
    for (const [sql, code] of [
      [repeat, '23505'],
      [long, '23514'],
    ] as const) {
      const error = await pool.query(sql).catch((cause: unknown) => cause)
      expect(error).to.have.property('code', code)
    }
  })
})
