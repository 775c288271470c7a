import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { createAdmin } from '../server/rest/finance/fixture.ts'
import { signInByOutbox } from '../server/web/account-fixture.ts'
import { signFor } from '../server/web/linked-wallet.ts'
import { ask } from '../support/ask.ts'
import { cookieOf, personWith } from '../support/person.ts'
import { useHub } from '../support/suite.ts'

const PATH = '/v1/account/wallet-sign-in'

describe('sign-in by wallet', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { jobs: true, admins: [admin.wallet] } })
  const newWallet = () => privateKeyToAccount(generatePrivateKey())

  async function sign(wallet: PrivateKeyAccount) {
    const request = { body: { wallet_address: wallet.address } }
    const { status, body, text } = await ask(hub().url, `${PATH}/challenge`, request)
    expect(status, text).to.equal(201)
    const { nonce, message } = body as { nonce: string; message: string }
    return { nonce, signature: await wallet.signMessage({ message }) }
  }
  const post = (body: unknown, path = PATH) => ask(hub().url, path, { body })
  async function signIn(wallet: PrivateKeyAccount) {
    const reply = await post(await sign(wallet))
    expect(reply.status, reply.text).to.equal(201)
    return personWith(hub().url, '', cookieOf(reply))
  }
  const keysOf = async (person: Awaited<ReturnType<typeof signIn>>) =>
    ((await person.ask('/v1/keys')).body['data'] as { key_id: string }[]).map((key) => key.key_id)

  it('manages the keys that the wallet has registered, and creates more', async () => {
    const account = newWallet()
    const client = new HubClient({ baseUrl: hub().url, wallet: { account, sandbox: true } })
    const { keyId } = await client.register()
    const person = await signIn(account)
    expect(await keysOf(person)).to.deep.equal([keyId])
    const response = await person.ask('/v1/keys', { body: { name: 'From the browser' } })
    expect(response.status, response.text).to.equal(201)
    expect(await keysOf(await signIn(account))).to.have.members([keyId, response.body['key_id']])
    const { body } = await person.ask('/v1/account')
    expect(body).to.include({ email: null, wallet_address: account.address })
  })

  it('opens one session for twenty concurrent uses of a signature', async () => {
    const signed = await sign(newWallet())
    const replies = await Promise.all(Array.from({ length: 20 }, () => post(signed)))
    expect(replies.filter(({ status }) => status === 201)).to.have.length(1)
    const refused = replies.filter(({ status }) => status !== 201)
    expect(new Set(refused.map(({ body }) => body['code']))).to.deep.equal(new Set(['nonce_used']))
  })

  it('accepts the signature of this wallet for this purpose only', async () => {
    const wallet = newWallet()
    const signed = await sign(wallet)
    const register = { ...signed, wallet_address: wallet.address }
    expect((await post(register, '/v1/register')).body['code']).to.equal('nonce_unknown')
    const stranger = newWallet()
    const forged = { nonce: signed.nonce, signature: (await sign(stranger)).signature }
    expect((await post(forged)).body['code']).to.equal('invalid_signature')
    const { body } = await ask(hub().url, `/v1/register/challenge?wallet_address=${wallet.address}`)
    const { nonce, message } = body as { nonce: string; message: string }
    const registration = { nonce, signature: await wallet.signMessage({ message }) }
    expect((await post(registration)).body['code']).to.equal('nonce_unknown')
  })

  it('never opens the account of the person whom the wallet is linked to (A319)', async () => {
    const owner = await signInByOutbox(hub(), 'owner@example.test')
    const own = await owner.ask('/v1/keys', { body: { name: 'Of the person' } })
    const wallet = newWallet()
    await signFor(owner, wallet, '/v1/account/wallets')
    const person = await signIn(wallet)
    expect(await keysOf(person)).to.deep.equal([])
    const { status } = await person.ask(`/v1/keys/${String(own.body['key_id'])}`)
    expect(status).to.equal(404)
    const sessions = await owner.ask('/v1/sessions')
    expect(sessions.body['data']).to.have.length(1)
  })

  it('opens no session with a role of the person whom the wallet is linked to (A319)', async () => {
    const boss = await signInByOutbox(hub(), 'boss@example.test')
    const grant = { name: boss.email, role: 'auditor', reason: 'a test' }
    await ask(hub().url, '/v1/admin/roles', { key: await admin.key(hub()), body: grant })
    expect((await boss.ask('/v1/finance/periods')).status, 'the person has the role').to.equal(200)
    const wallet = newWallet()
    await signFor(boss, wallet, '/v1/account/wallets')
    expect((await (await signIn(wallet)).ask('/v1/finance/periods')).status).to.equal(403)
  })

  it('links no wallets and gets no emails', async () => {
    const person = await signIn(newWallet())
    const refused = [
      await person.ask('/v1/account/wallets/challenge', {
        body: { wallet_address: newWallet().address },
      }),
      await person.ask('/v1/account/incident-mail', { method: 'PUT', body: { subscribed: true } }),
    ]
    for (const { status, body } of refused)
      expect([status, body['code']]).to.deep.equal([403, 'email_account_required'])
  })

  it('refuses requests of other sites (CSRF)', async () => {
    const headers = { origin: 'https://evil.example' }
    const reply = await ask(hub().url, PATH, { body: await sign(newWallet()), headers })
    expect(reply.body['code']).to.equal('origin_not_allowed')
  })
})
