import {
  createSIWxPayload,
  encodeSIWxHeader,
  SIGN_IN_WITH_X,
  type SIWxExtension,
  type SIWxPayload,
} from '@x402/extensions/sign-in-with-x'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { usd } from '../../../core/money.ts'
import { countingService, PRICE, resetWork, work } from '../../stories/counted-service.ts'
import { ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { callTool } from './ask.ts'

const WORK = { service: 'counted', endpoint: 'POST /work', input: { text: 'a' } }
const META = 'x402/sign-in-with-x'
const CREDITS = usd('0.5')

describe('a paid tool whose caller signs the challenge of its result', () => {
  const hub = useHub({ plugins: [countingService] })
  let account: ReturnType<typeof privateKeyToAccount>
  let wallet: { readonly keyId: string; readonly apiKey: string }
  /** Sends the messages; its key has no credits. */
  let poor: TestAgent
  beforeEach(async () => {
    resetWork()
    poor = await hub().agent()
    account = privateKeyToAccount(generatePrivateKey())
    const signer = { account, sandbox: true }
    wallet = await new HubClient({ baseUrl: hub().url, wallet: signer }).register()
    await hub().credit(wallet.keyId, CREDITS)
  })

  const call = (args: object, signIn?: unknown, name = 'hub_call', key = poor.apiKey) =>
    callTool(hub(), key, name, { ...args }, signIn === undefined ? undefined : { [META]: signIn })
  const challengeOf = ({ structuredContent }: Awaited<ReturnType<typeof call>>): SIWxExtension =>
    (structuredContent!['extensions'] as Record<string, SIWxExtension>)[SIGN_IN_WITH_X]!
  async function sign(challenge: SIWxExtension): Promise<SIWxPayload> {
    const { info, supportedChains } = challenge
    return createSIWxPayload({ ...info, ...supportedChains[0]! }, account, `${hub().url}/mcp`)
  }
  const signed = async (args: object = WORK) => sign(challengeOf(await call(args)))
  const spent = async () => CREDITS - (await hub().balance(wallet.keyId))

  async function refused(result: ReturnType<typeof call>, reason: string): Promise<void> {
    const { isError, data } = await result
    expect(isError).to.equal(true)
    expect(data).to.include({ error: 'payment_required', charged_usd: '0.00' })
    expect(JSON.stringify(data)).to.include(reason)
    expect([work.done, await spent()]).to.deep.equal([0, 0n])
  }

  it('is paid by the credits of the wallet', async () => {
    const offered = await call(WORK)
    expect(offered.data['next']).to.include('_meta["x402/sign-in-with-x"]')
    const challenge = challengeOf(offered)
    expect(challenge.info).to.include({ uri: `${hub().url}/mcp`, domain: new URL(hub().url).host })
    expect(challenge.info.statement).to.include('Spend up to 0.001000 USD')
    const { data } = await call(WORK, await sign(challenge))
    expect(data).to.deep.include({ charged_usd: '0.001', paid_from: 'credits', body: { done: 1 } })
    expect(await spent()).to.equal(PRICE)
    const record = (key: string) => ask(hub().url, `/v1/calls/${String(data['call_id'])}`, { key })
    expect(await record(wallet.apiKey)).to.have.property('status', 200)
    expect(await record(poor.apiKey)).to.have.property('status', 404)
  })

  it('takes the signed challenge as a header value, too', async () => {
    const { data } = await call(WORK, encodeSIWxHeader(await signed()))
    expect(data).to.include({ paid_from: 'credits' })
  })

  it('buys from an external seller', async () => {
    const order = { url: 'http://seller.test/weather?city=Oslo', max_price_usd: '0.01' }
    const offered = await call(order, undefined, 'hub_call_external')
    expect(offered.data).to.include({ error: 'insufficient_credits' })
    expect(offered.structuredContent).to.deep.include({ accepts: [] })
    const { data } = await call(order, await sign(challengeOf(offered)), 'hub_call_external')
    expect(data).to.include({ charged_usd: '0.01', paid_from: 'credits' })
    expect(await spent()).to.equal(usd('0.01'))
  })

  it('uses each challenge once', async () => {
    const signIn = await signed()
    expect((await call(WORK, signIn)).data).to.include({ charged_usd: '0.001' })
    const again = await call(WORK, signIn)
    expect(again.data).to.include({ error: 'payment_required' })
    expect([work.done, await spent()]).to.deep.equal([1, PRICE])
  })

  describe('is refused, and charges nobody,', () => {
    it('with other arguments, another limit or another tool', async () => {
      await refused(call({ ...WORK, input: { text: 'b' } }, await signed()), 'invalid_siwx_nonce')
      const limited = { ...WORK, max_price_usd: '0.1' }
      await refused(call(limited, await signed()), 'invalid_siwx_nonce')
      const order = { url: 'http://seller.test/weather', max_price_usd: '0.01' }
      const other = call(order, await signed(), 'hub_call_external')
      await refused(other, 'invalid_siwx_nonce')
    })

    it('with the challenge of the proxy, and the proxy with the challenge of a tool', async () => {
      const header = encodeSIWxHeader(await signed())
      const options = { body: { text: 'a' }, headers: { [SIGN_IN_WITH_X]: header } }
      const { body } = await ask(hub().url, '/proxy/counted/work', options)
      expect(body).to.include({ sign_in_refused: 'invalid_siwx_uri_mismatch' })
      const { headers } = await ask(hub().url, '/proxy/counted/work', { body: { text: 'a' } })
      const required = Buffer.from(String(headers['payment-required']), 'base64').toString()
      const { extensions } = JSON.parse(required) as { extensions: Record<string, SIWxExtension> }
      const signIn = await sign(extensions[SIGN_IN_WITH_X]!)
      await refused(call(WORK, signIn), 'invalid_siwx_uri_mismatch')
    })

    it('with the address of another wallet, which has credits', async () => {
      const signIn = await signed()
      const thief = privateKeyToAccount(generatePrivateKey())
      const signature = await thief.signMessage({ message: 'anything' })
      await refused(call(WORK, { ...signIn, signature }), 'invalid_siwx_signature')
    })

    it('even if the key of the message has credits', async () => {
      await hub().credit(poor.keyId, CREDITS)
      const { info } = challengeOf(await call({ ...WORK, max_price_usd: '0.1' }, 'none'))
      expect(info.nonce).to.match(/^[0-9a-f]{64}$/)
      expect(await hub().balance(poor.keyId)).to.equal(CREDITS)
      expect(work.done).to.equal(0)
    })

    for (const signIn of ['', '%%%', {}, [], 7, 'x'.repeat(40_000), { signature: '0x' }]) {
      it(`with ${JSON.stringify(signIn).slice(0, 20)}`, async () => {
        await refused(call(WORK, signIn), 'invalid_siwx_header')
      })
    }
  })
})
