import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { LIST_TOOLS } from '../../../server/cli/install/launcher.ts'
import { eventually } from '../../support/eventually.ts'
import { useHub } from '../../support/suite.ts'
import { configOf, type User, usersOf } from './hub.ts'

const SAY = ['-d', '{"words":"hello"}'] as const

describe('hub', function () {
  const hub = useHub()
  const { user, customer } = usersOf(() => hub().url)

  describe('registers, buys, finds, calls, adds and calls by name', () => {
    let ada: User
    before(async () => {
      ada = await customer()
    })

    it('and stores keys and wallet readable to the user only', async () => {
      for (const name of ['credentials.json', 'wallet-sandbox.json']) {
        expect(statSync(configOf(ada, name)).mode & 0o777, name).to.equal(0o600)
      }
      expect(statSync(configOf(ada, '')).mode & 0o777).to.equal(0o700)
      chmodSync(configOf(ada, 'wallet-sandbox.json'), 0o644)
      expect((await ada.hub(['wallet', 'address'])).err).to.match(
        /Other users can read .*chmod 600/,
      )
    })

    it('and pays with one signature, posted to the ledger', async () => {
      const { balance_microdollars: credits } = await ada.json('balance')
      expect(credits).to.equal(5_000_000)
    })

    it('and calls a service: the response on stdout, the charge on stderr', async () => {
      const { exit, out, err } = await ada.hub(['call', 'echo/say', ...SAY])
      expect([exit, JSON.parse(out)]).to.deep.equal([0, { words: 'hello' }])
      expect(err).to.match(/charged \$0\.0001 \(credits\)/)
      const result = await ada.json('call', 'echo/say', ...SAY)
      expect(result).to.deep.include({ status: 200, charged_microdollars: 100, source: 'credits' })
      expect(result['body']).to.deep.equal({ words: 'hello' })
    })

    it('and reads the body from a file and from standard input', async () => {
      writeFileSync(join(ada.home, 'body.json'), '{"words":"from a file"}')
      const file = await ada.hub(['call', 'echo/say', '-d', '@body.json'])
      expect(JSON.parse(file.out)).to.deep.equal({ words: 'from a file' })
      const piped = await ada.hub(['call', 'echo/say', '-d', '-'], '{"words":"piped"}')
      expect(JSON.parse(piped.out)).to.deep.equal({ words: 'piped' })
    })

    it('and is charged once per idempotency key', async () => {
      const again = () => ada.json('call', 'echo/say', ...SAY, '--idempotency-key', 'just-once')
      const first = await again()
      const second = await again()
      expect(first).to.include({ charged_microdollars: 100 })
      expect(second).to.include({ charged_microdollars: 0 })
      expect(second['body']).to.deep.equal(first['body'])
    })

    it('and buys from an x402 seller, saves it and calls it by name', async () => {
      const url = `${hub().sandbox!.sellerUrl}/weather?city=Oslo`
      const bought = await ada.json('call', url)
      expect(bought).to.include({ status: 200, charged_microdollars: 10_000 })
      const added = await ada.json('add', url, '--name', 'weather')
      expect(added).to.deep.include({ name: 'weather', method: 'GET', price_usd: '0.010000' })
      const named = await ada.json('call', 'weather')
      expect(named['body']).to.deep.equal(bought['body'])
      expect(await ada.json('tools')).to.have.keys('weather')
      expect((await ada.hub(['tools'])).out).to.match(/weather +GET .* +\$0\.01\n/)
      await ada.json('tools', 'forget', 'weather')
      expect((await ada.hub(['call', 'weather'])).exit).to.equal(1)
    })

    it('and shows free calls and free units by name', async () => {
      const { out } = await ada.hub(['balance'])
      expect(out).to.match(/free +.*analysis \d+ calls,.* echo \d+ words.* left this month/)
      expect((await ada.hub(['show', 'echo'])).out).to.match(/ · \d+ free words a month · /)
    })

    it('and shows the history in pages', async () => {
      const first = await ada.json('history', '--limit', '2')
      expect(first['data']).to.have.length(2)
      const next = String(first['next_cursor'])
      const second = await ada.json('history', '--limit', '2', '--cursor', next)
      expect(second['data']).to.have.length(2).and.not.deep.equal(first['data'])
    })

    it('and lists receipts, each of which verifies', async () => {
      const listed = await ada.json('receipts', 'list', '--limit', '1')
      const [{ id } = { id: '' }] = listed['data'] as readonly { id: string }[]
      expect(await ada.json('receipts', 'verify', id)).to.include({ valid: true })
      expect((await ada.hub(['receipts', 'list'])).out).to.include(`hub receipts verify ${id}`)
      const signed = await ada.json('call', 'echo/say', ...SAY, '--pay', 'siwx')
      expect(signed).to.include({ status: 200, source: 'credits' })
      await ada.json('--yes', 'call', 'echo/say', ...SAY, '--pay', 'x402')
      const bought = await ada.json('--yes', 'call', 'echo/say', ...SAY, '--pay', 'mpp')
      expect(bought).to.include({ status: 200, source: 'x402', charged_microdollars: 100 })
      const { data } = await ada.json('receipts', 'list')
      const paid = data as readonly { id: string; endpoint: string; source: string }[]
      expect(paid[0]).to.include({ endpoint: 'echo POST /say', source: 'x402' })
      expect(paid.map(({ endpoint }) => endpoint)).to.include('external POST /')
      for (const each of paid) {
        expect(await ada.json('receipts', 'verify', each.id), each.endpoint).to.include({
          valid: true,
        })
      }
    })

    it('and shows payouts, why one waits and until when', async () => {
      expect(await ada.json('payouts')).to.deep.include({ data: [] })
      const { admin } = hub().database
      const { rows } = await admin.query<{ principal: string }>(
        'SELECT principal FROM hub.api_key ORDER BY created_at DESC LIMIT 1',
      )
      await admin.query(`INSERT INTO hub.provider (id, owner) VALUES ('ada-sells', $1)`, [
        rows[0]!.principal,
      ])
      const { out } = await ada.hub(['payouts'])
      expect(out).to.match(/ada-sells +\$0.* set a payout address/)
      const page = `Set a payout address at ${hub().url}/provider/payouts, or with PUT `
      expect(out).to.include(`${page}/v1/provider/payout-address.`)
    })

    it('and shows the price of a call without calling', async () => {
      const before = (await ada.json('balance'))['balance_microdollars']
      const result = await ada.json('call', 'echo/say', ...SAY, '--dry-run')
      expect(result).to.include({ price_microdollars: 100 })
      expect((await ada.json('balance'))['balance_microdollars']).to.equal(before)
    })
  })

  describe('manages keys', () => {
    it('with limits that hold', async () => {
      const dan = await customer()
      const child = await dan.json('keys', 'create', '--name', 'child', '--max-total', '0.0001')
      const worker = user({ HUB_API_KEY: String(child['api_key']) })
      expect(await worker.json('call', 'echo/say', ...SAY)).to.include({ status: 200 })
      const { exit, err } = await worker.hub(['--json', 'call', 'echo/say', ...SAY])
      expect([exit, JSON.parse(err).error.code]).to.deep.equal([1, 'key_limit_reached'])
      const id = String(child['key_id'])
      const limited = await dan.json('keys', 'limit', id, '--max-total', '0.0003')
      expect(limited).to.include({
        max_total_microdollars: 300,
        total_remaining_microdollars: 200,
      })
      expect((await dan.hub(['keys', 'list'])).out).to.match(/\$0\.0002 +of +\$0\.0003/)
      expect((await worker.hub(['balance'])).out).to.match(/limits.*\$0\.0002 +left in total/)
      expect((await dan.hub(['keys', 'limit', id])).exit).to.equal(2)
      const rateRequest = await dan.json('keys', 'rate', '5000', 'Nightly reviews.')
      expect(rateRequest).to.include({ state: 'pending', requests_per_minute: 5_000 })
      await dan.json('--yes', 'keys', 'revoke', String(child['key_id']))
      await eventually(async () => (await worker.hub(['balance'])).exit === 4) // within a second
    })

    it('and uses its own new secret after a rotation', async () => {
      const dan = await customer()
      const { data } = (await dan.json('keys', 'list')) as unknown as {
        data: readonly { key_id: string }[]
      }
      await dan.json('keys', 'rotate', data[0]!.key_id)
      expect(await dan.json('balance')).to.include({ balance_microdollars: 5_000_000 })
    })
  })

  describe('at a terminal', () => {
    it('asks before it pays and accepts a refusal', async function () {
      const eve = user()
      await eve.json('register')
      const no = await eve.typed(['topup', '5'], 'n\n')
      if (!no) return this.skip()
      expect(no.out).to.match(/Pay \$5\.00 in test USDC from 0x\w+ .*\[y\/N\]/)
      expect(no.exit).to.equal(3)
      const yes = await eve.typed(['topup', '5'], 'y\n')
      expect(yes?.out).to.match(/Bought \$5\.00 of credits/)
      expect(await eve.json('balance')).to.include({ balance_microdollars: 5_000_000 })
    })

    it('shows colors unless NO_COLOR is set', async function () {
      const eve = user()
      const shown = await eve.typed(['balance'], '')
      if (!shown) return this.skip()
      expect(shown.out).to.include('\u001B[31merror:')
      eve.env['NO_COLOR'] = '1'
      expect((await eve.typed(['balance'], ''))?.out).to.not.include('\u001B[31m')
    })
  })

  it('encrypts a wallet and pays with it', async () => {
    const fay = await customer()
    const file = configOf(fay, 'wallet-sandbox.json')
    const { address, private_key: key } = JSON.parse(readFileSync(file, 'utf8'))
    fay.env['HUB_WALLET_PASSWORD'] = 'correct horse'
    await fay.json('wallet', 'encrypt')
    expect(readFileSync(file, 'utf8')).to.not.include(key.slice(2))
    expect(await fay.json('wallet', 'address')).to.include({ address })
    expect(await fay.json('--yes', 'topup', '5')).to.include({ state: 'settled' })
    delete fay.env['HUB_WALLET_PASSWORD']
    const { exit, err } = await fay.hub(['--yes', 'topup', '5'])
    expect([exit, err]).to.satisfy(
      ([code, text]: [number, string]) => code === 1 && /HUB_WALLET_PASSWORD/.test(text),
    )
  })

  it('completes commands and flags in bash, zsh and fish', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { out } = await user().hub(['completion', shell])
      expect(out, shell).to.include('topup').and.to.include('max-price').and.to.include('codex')
    }
    expect((await user().hub(['completion', 'tcsh'])).exit).to.equal(2)
  })

  it('is an MCP server over stdio with the key of this machine', async () => {
    const gil = await customer()
    const requests = [
      ...LIST_TOOLS,
      {
        id: 3,
        method: 'tools/call',
        params: {
          name: 'hub_call',
          arguments: { service: 'echo', endpoint: '/say', input: { words: 'over a bridge' } },
          _meta: { progressToken: 'p' },
        },
      },
    ]
    const { out } = await gil.hub(
      ['mcp'],
      requests.map((each) => `${JSON.stringify({ jsonrpc: '2.0', ...each })}\n`).join(''),
    )
    const answers = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const notifications = answers.filter(({ method }) => method === 'notifications/progress')
    expect(notifications.map(({ params }) => params.progress)).to.deep.equal([1, 2, 3, 4])
    expect(answers.flatMap(({ id }) => id ?? []).toSorted((a, b) => a - b)).to.deep.equal([1, 2, 3])
    expect(answers.at(-1), 'events before the answer').to.have.property('id')
    const called = answers.find(({ id }) => id === 3).result.structuredContent
    expect(called).to.deep.include({ charged_usd: '0.0001', body: { words: 'over a bridge' } })
    expect(answers.find(({ id }) => id === 2).result.tools).to.have.length(9)
  })
})
