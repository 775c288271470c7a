import { expect } from 'chai'
import { Client } from 'pg'
import { systemClock } from '../../core/clock.ts'
import { uuidv7 } from '../../core/ids.ts'
import { claimKey } from '../../core/ledger/idempotency.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { usd } from '../../core/money.ts'
import { claimRequestName } from '../../core/usage/request-names.ts'
import { callTool } from '../server/mcp/ask.ts'
import { type ApiResponse, ask, type RequestOptions } from '../support/ask.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'
import { countingService, PRICE, resetWork, work } from './counted-service.ts'

describe('A210 a sub-key', () => {
  const hub = useHub({ plugins: [countingService] })
  let main: TestAgent
  beforeEach(async () => {
    resetWork()
    main = await hub().agent()
    await hub().credit(main.keyId, usd('1'))
  })
  const get = (path: string, key: string, options: RequestOptions = {}) =>
    ask(hub().url, path, { key, ...options })
  const createSubKey = async (limits: object = {}) => {
    const { body } = await get('/v1/keys', main.apiKey, { body: limits })
    return { keyId: String(body['key_id']), apiKey: String(body['api_key']) }
  }
  const call = (key: string, name: string, text = 'a'): Promise<ApiResponse> =>
    get('/proxy/counted/work', key, { body: { text }, headers: { 'idempotency-key': name } })
  const asOwner = async (sql: string) => {
    const client = new Client({ connectionString: hub().database.url })
    await client.connect()
    try {
      await client.query(sql)
    } finally {
      await client.end()
    }
  }
  const spent = async () => usd('1') - (await hub().balance(main.keyId))
  const fails = async (answer: Promise<ApiResponse>, status: number, code: string) =>
    expect([(await answer).status, (await answer).body['code']]).to.deep.equal([status, code])

  it('gets no stored response of its main key, whatever service it may call', async () => {
    expect((await call(main.apiKey, 'same')).body).to.deep.equal({ done: 1 })
    const limited = await createSubKey({ services: ['echo'] })
    await fails(call(limited.apiKey, 'same'), 403, 'service_not_allowed')
    const free = await createSubKey()
    expect((await call(free.apiKey, 'same')).body, 'its own call').to.deep.equal({ done: 2 })
    expect((await call(free.apiKey, 'same')).body, 'its own response').to.deep.equal({ done: 2 })
    expect((await call(main.apiKey, 'same')).body).to.deep.equal({ done: 1 })
    expect(work.done).to.equal(2)
    expect(await spent()).to.equal(2n * PRICE)
  })

  it('uses up no name of its main key or of a sibling, nor its own by a refused call', async () => {
    const limited = await createSubKey({ services: ['echo'] })
    const sibling = await createSubKey()
    await fails(call(limited.apiKey, 'taken', 'x'), 403, 'service_not_allowed')
    expect(await call(main.apiKey, 'taken', 'y')).to.have.property('status', 200)
    expect(await call(sibling.apiKey, 'taken', 'z')).to.have.property('status', 200)
    const { status } = await get('/proxy/echo/say', limited.apiKey, {
      body: { words: 'hi' },
      headers: { 'idempotency-key': 'taken' },
    })
    expect(status, 'the name was not used up').to.equal(200)
  })

  it('names purchases apart from its main key', async () => {
    const buy = (key: string, amount_microdollars: number) =>
      get('/v1/credits/purchase', key, { body: { amount_microdollars, purchase_id: 'may' } })
    const { apiKey } = await createSubKey()
    await fails(buy(apiKey, 5_000_000), 402, 'payment_required')
    await fails(buy(main.apiKey, 6_000_000), 402, 'payment_required')
    await fails(buy(main.apiKey, 7_000_000), 422, 'idempotency_key_reused')
  })

  it('keeps a name from before names were separate, and pays once for it', async () => {
    const { pool, ledger } = hub().hub
    const child = await createSubKey()
    const credits = await ledger.account(creditsOf(main.keyId))
    const newId = () => uuidv7(systemClock.now().getTime())
    const claim = (name: string, inputs: string) =>
      claimRequestName(pool, { keyId: child.keyId, credits }, name, inputs, newId())
    const old = newId()
    await claimKey(pool, credits, 'call:old', 'inputs', old)
    const mine = await call(main.apiKey, 'mine')
    expect(await claim('call:old', 'inputs'), 'a name from after it').to.not.equal(old)
    await claimKey(pool, credits, 'call:older', 'inputs', old)
    await asOwner(`UPDATE hub.sub_key_naming SET since = 'infinity'`)
    expect(await claim('call:older', 'inputs')).to.equal(old)
    expect(await claim('call:older', 'others'), 'another request').to.not.equal(old)
    await get(`/v1/calls/${String(mine.headers['x-call-id'])}`, main.apiKey) // writes its record
    expect((await call(child.apiKey, 'mine')).body, 'of the main key').to.deep.equal({ done: 2 })
    await asOwner('UPDATE hub.sub_key_naming SET since = now()')
  })

  it('cannot change the low-balance threshold of its main key', async () => {
    const { keyId, apiKey } = await createSubKey()
    const change = (key: string, id: string) =>
      get(`/v1/keys/${id}`, key, { method: 'PATCH', body: { low_balance_microdollars: 0 } })
    await fails(change(apiKey, keyId), 403, 'root_key_required')
    await fails(change(apiKey, main.keyId), 404, 'not_found')
    await fails(change(main.apiKey, keyId), 403, 'root_key_required')
    expect(await change(main.apiKey, main.keyId)).to.have.property('status', 200)
  })

  it('sees only its own calls and those of the keys below it', async () => {
    const child = await createSubKey()
    const sibling = await createSubKey()
    const below = await get('/v1/keys', child.apiKey, { body: {} })
    const ids = new Map<string, string>()
    for (const [name, key] of [
      ['main', main.apiKey],
      ['child', child.apiKey],
      ['sibling', sibling.apiKey],
      ['below', String(below.body['api_key'])],
    ] as const) {
      ids.set(name, String((await call(key, 'x')).headers['x-call-id']))
    }
    const visible = async (key: string) => {
      const { body } = await get('/v1/credits/history', key)
      const rows = body['data'] as readonly { id: string; event: string }[]
      const settled = rows.filter(({ event }) => event === 'call.settled').map(({ id }) => id)
      const names = [...ids].filter(([, id]) => settled.includes(id)).map(([name]) => name)
      for (const [name, id] of ids) {
        const response = await get(`/v1/calls/${id}`, key)
        expect(response.status === 200, name).to.equal(names.includes(name))
      }
      return { names, others: rows.some(({ event }) => !event.startsWith('call.')) }
    }
    expect(await visible(main.apiKey)).to.deep.equal({ names: [...ids.keys()], others: true })
    expect(await visible(child.apiKey)).to.deep.equal({ names: ['child', 'below'], others: false })
    expect(await visible(sibling.apiKey)).to.deep.equal({ names: ['sibling'], others: false })
  })

  it('sees what it may spend and its own spending, by REST and MCP alike', async () => {
    const child = await createSubKey({ max_total_microdollars: 5 * Number(PRICE) })
    const sibling = await createSubKey()
    const writeRecord = async (key: string, name: string) => {
      const { headers } = await call(key, name)
      await get(`/v1/calls/${String(headers['x-call-id'])}`, key)
      return headers
    }
    await writeRecord(child.apiKey, 'x')
    await writeRecord(sibling.apiKey, 'x')
    const left = 4 * Number(PRICE)
    const { body } = await get('/v1/wallet/balance', child.apiKey)
    expect(body).to.include({ balance_microdollars: left, reserved_microdollars: null })
    expect(body['spending']).to.have.deep.property('by_key', [
      { key_id: child.keyId, calls: 1, free_calls: 0, charged_microdollars: Number(PRICE) },
    ])
    expect(body['key_limits']).to.include({ total_remaining_microdollars: left })
    const { body: credits } = await get('/v1/credits/balance', child.apiKey)
    expect(credits['balance_microdollars']).to.equal(left)
    const again = await writeRecord(child.apiKey, 'y')
    expect(again['x-balance-microdollars']).to.equal(String(left - Number(PRICE)))
    const dry = await get('/proxy/counted/work?dry_run', child.apiKey, { body: { text: 'a' } })
    expect(dry.body['balance_microdollars']).to.equal(left - Number(PRICE))
    const { data } = await callTool(hub(), child.apiKey, 'hub_balance', {})
    expect(Number(data['balance_usd'])).to.equal((left - Number(PRICE)) / 1_000_000)
    expect(data['spending_this_month']).to.have.nested.property('by_service[0].calls', 2)
    expect(JSON.stringify([body, data]))
      .to.not.include(sibling.keyId)
      .and.not.include(main.keyId)
  })

  it('sees its main key if every key above it may', async () => {
    const child = await createSubKey({ sees_main_key: true, max_total_microdollars: 5_000 })
    const blind = await createSubKey()
    const below = await get('/v1/keys', blind.apiKey, { body: { sees_main_key: true } })
    await call(main.apiKey, 'x')
    const balanceOf = async (key: string) =>
      (await get('/v1/wallet/balance', key)).body['balance_microdollars']
    expect(await balanceOf(child.apiKey)).to.equal(await balanceOf(main.apiKey))
    const rows = async (key: string) =>
      ((await get('/v1/credits/history', key)).body['data'] as readonly unknown[]).length
    expect(await rows(child.apiKey)).to.equal(await rows(main.apiKey))
    expect(await rows(String(below.body['api_key']))).to.equal(0)
  })

  it('cannot take the listings of its main key’s host off the catalog', async () => {
    const { apiKey } = await createSubKey()
    const body = { host: 'seller.example', opted_out: true, reason: 'x' }
    await fails(get('/v1/listings/opt-out', apiKey, { body }), 403, 'root_key_required')
    await fails(
      get('/v1/listings/ownership', apiKey, { body: { host: 'seller.example' } }),
      403,
      'root_key_required',
    )
  })
})
