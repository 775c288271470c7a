import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { usd } from '../../../core/money.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { ask, payFor } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'
import { signInByOutbox } from './account-fixture.ts'

const FIVE = usd('5')

describe('top-up by anyone with the page link', () => {
  const hub = useHub({ config: { jobs: true } })
  const order = (keyId: string, id = `pur_${randomUUID()}`, amount = FIVE) => ({
    key_id: keyId,
    amount_microdollars: Number(amount),
    purchase_id: id,
  })
  const post = (body: object, headers: Readonly<Record<string, string>> = {}) =>
    ask(hub().url, '/v1/topups', { method: 'POST', body, headers })
  const payer = async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc: 2n * FIVE })
    return account
  }
  /** Signs the hub's offer, like the script of the page. */
  const signed = async (body: object) => {
    const value = await payFor(await payer(), hub().url, await post(body))
    return { 'PAYMENT-SIGNATURE': value }
  }

  it('credits the key once, however often it is sent, and hides the balance', async () => {
    const { keyId } = await hub().agent()
    const topup = order(keyId)
    expect((await post(topup)).status).to.equal(402)
    const header = await signed(topup)
    const first = await post(topup, header)
    expect(first.status, first.text).to.equal(201)
    expect(first.body).to.have.all.keys(
      'purchase_id',
      'state',
      'credited_microdollars',
      'transaction',
    )
    const again = await post(topup, header)
    expect([again.status, again.body['purchase_id']]).to.deep.equal([
      201,
      first.body['purchase_id'],
    ])
    const asking = await post(topup) // no second payment is requested
    expect([asking.status, asking.body['state']]).to.deep.equal([201, 'settled'])
    expect(await hub().balance(keyId)).to.equal(FIVE)
  })

  it('is the same purchase as via the key itself', async () => {
    const { keyId, apiKey } = await hub().agent()
    const topup = order(keyId)
    const header = await signed(topup)
    expect((await post(topup, header)).status).to.equal(201)
    const { amount_microdollars, purchase_id } = topup
    const direct = await ask(hub().url, '/v1/credits/purchase', {
      method: 'POST',
      key: apiKey,
      body: { amount_microdollars, purchase_id },
    })
    expect([direct.status, direct.body['state']]).to.deep.equal([201, 'settled'])
    expect(await hub().balance(keyId)).to.equal(FIVE)
  })

  it('rejects purchase ids of other forms and unknown keys', async () => {
    const { keyId } = await hub().agent()
    expect((await post(order(keyId, 'top-up-1'))).status).to.equal(422)
    expect((await post(order('key_nobody'))).status).to.equal(404)
    const id = `pur_${randomUUID()}`
    expect((await post(order(keyId, id))).status).to.equal(402)
    const other = await post(order(keyId, id, usd('6')))
    expect([other.status, other.body['code']]).to.deep.equal([422, 'idempotency_key_reused'])
  })

  it('has a page that waits for its pending payment and offers no second one', async () => {
    const { keyId } = await hub().agent()
    const topup = order(keyId)
    expect((await post(topup, await signed(topup))).status).to.equal(201)
    await hub().database.admin.query(
      `UPDATE hub.payment_claim SET state = 'pending' WHERE payee = $1`,
      [creditsOf(keyId)],
    )
    const query = `key_id=${keyId}&amount_usd=5&purchase_id=${topup.purchase_id}`
    const { text } = await ask(hub().url, `/topup?${query}`, { headers: { accept: 'text/html' } })
    expect(text).to.include('Do not pay').and.to.not.include('Add $5.00 test credits')
    expect(text).to.not.match(/<button type="button" hidden>Pay/)
  })

  it('offers every main key of the account with its credits, and no revoked one', async () => {
    const person = await signInByOutbox(hub(), 'many-keys@example.test')
    const make = async (name: string) =>
      String((await person.ask('/v1/keys', { body: { name } })).body['key_id'])
    const [first, second] = [await make('First'), await make('Gone')]
    await hub().database.admin.query(
      `INSERT INTO hub.api_key (id, principal, parent, depth, credits)
       SELECT 'key_manyTop' || lpad(n::text, 9, '0'), m.principal, m.id, 1, m.credits
       FROM hub.api_key m, generate_series(1, 120) n WHERE m.id = $1`,
      [first],
    )
    const last = await make('Last')
    await hub().credit(last, FIVE)
    await person.ask(`/v1/keys/${second}`, { method: 'DELETE' })
    const headers = { accept: 'text/html', cookie: person.cookie }
    const { text } = await ask(hub().url, '/topup', { headers })
    const offered = [...text.matchAll(/<option value="(key_\w+)"[^>]*>([^<]+)</g)]
    expect(offered.map(([, id, label]) => [id, label])).to.deep.equal([
      [first, 'First, $0.00'],
      [last, 'Last, $5.00'],
    ])
  })

  it('has an uncached page for its amount and key', async () => {
    const { keyId } = await hub().agent()
    const open = (query: string) =>
      ask(hub().url, `/topup?${query}`, { headers: { accept: 'text/html' } })
    const named = await open(`key_id=${keyId}&amount_usd=7.50`)
    expect(named.status).to.equal(303)
    const address = new URL(String(named.headers['location']), hub().url)
    expect(address.searchParams.get('purchase_id')).to.match(/^pur_/)
    const { status, text, headers } = await open(String(address.searchParams))
    expect(status).to.equal(200)
    expect(headers['cache-control']).to.equal('no-store')
    expect(text).to.include('data-amount="7500000"').and.to.include('Top up $7.50')
    expect(text, 'a sandbox says which chain it is').to.match(/data-genesis="0x[\da-f]{64}"/)
    expect((await open('key_id=key_nobody')).status).to.equal(404)
    for (const wrong of ['4.99', '10001', 'five', '']) {
      const again = await open(`key_id=${keyId}&amount_usd=${wrong}`)
      expect(again.status, wrong).to.equal(422)
      expect(again.text).to.include(`value="${wrong}"`).and.to.include('$5.00 to $10,000.00')
    }
  })
})
