import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import { generatePrivateKey } from 'viem/accounts'
import { HubError, PaymentTermsError } from '../../../core/client/index.ts'
import { toFailure } from '../../../server/cli/failure.ts'
import { listenOnLoopback } from '../../support/loopback.ts'
import { useHub } from '../../support/suite.ts'
import { configOf, usersOf } from './hub.ts'

const SAY = ['-d', '{"words":"hello"}'] as const

describe('hub, on failure,', () => {
  const hub = useHub()
  const { user, customer } = usersOf(() => hub().url)

  describe('does not pay', () => {
    it('more than --max-price, HUB_MAX_PRICE or the default allows: exit code 3', async () => {
      const bea = await customer()
      for (const [env, flags] of [
        [{}, ['--max-price', '0.00001']],
        [{ HUB_MAX_PRICE: '0.00001' }, []],
      ] as const) {
        Object.assign(bea.env, env)
        const { exit, err } = await bea.hub(['--json', 'call', 'echo/say', ...SAY, ...flags])
        expect(exit).to.equal(3)
        expect(JSON.parse(err).error).to.include({ code: 'price_exceeds_max' })
      }
      delete bea.env['HUB_MAX_PRICE']
      expect(await bea.json('balance')).to.include({ balance_microdollars: 5_000_000 })
    })

    it('more because a project file raises the limit', async () => {
      const bea = await customer()
      writeFileSync(join(bea.home, '.agenthubrc.json'), '{"max_price_usd":"999"}')
      Object.assign(bea.env, { HUB_MAX_PRICE: '0.00001' })
      expect((await bea.hub(['call', 'echo/say', ...SAY])).exit).to.equal(3)
    })

    it('without consent: exit code 3, naming the flag that consents', async () => {
      const bea = user()
      await bea.json('register')
      const { exit, err } = await bea.hub(['topup', '5'])
      expect(exit).to.equal(3)
      expect(err)
        .to.match(/in test USDC from 0x\w+ to .* There is no terminal to ask/)
        .and.match(/--yes/)
      expect(await bea.json('balance')).to.include({ balance_microdollars: 0 })
    })

    it('without the data that it names: exit code 2', async () => {
      const bea = await customer()
      const { exit, err } = await bea.hub(['call', 'echo/say', '-d', '@absent.json'])
      expect(exit).to.equal(2)
      expect(err).to.match(/Cannot read absent\.json: there is no such file\./)
    })

    it('twice for one purchase id', async () => {
      const bea = user()
      await bea.json('register')
      await bea.json('--yes', 'topup', '5', '--purchase-id', 'mine')
      await bea.json('--yes', 'topup', '5', '--purchase-id', 'mine')
      expect(await bea.json('balance')).to.include({ balance_microdollars: 5_000_000 })
    })

    it('from the wallet without consent for this call', async () => {
      const bea = user()
      await bea.json('register')
      const unpaid = await bea.hub(['--json', 'call', 'echo/say', ...SAY])
      expect(unpaid.exit).to.equal(5)
      await bea.json('--yes', 'topup', '5') // the faucet fills the wallet, and it is all spent
      const paid = await bea.json('call', 'echo/say', ...SAY, '--pay', 'x402')
      expect(paid).to.include({ charged_microdollars: 100, source: 'x402' })
      expect(await bea.json('balance')).to.include({ balance_microdollars: 5_000_000 })
    })

    it('twice after a lost response: the failure names the idempotency key', async () => {
      const bea = user({ HUB_API_KEY: `ahk_${'0'.repeat(49)}` })
      const away = ['--json', '--wait', '1', '--hub', 'http://127.0.0.1:9']
      const args = [...away, 'call', 'https://seller.example/']
      const { exit, err } = await bea.hub(args)
      expect(exit).to.equal(6)
      const { details, hint } = JSON.parse(err).error
      expect(hint).to.include(`--idempotency-key ${details.idempotency_key}`)
    })

    it('to show the price of a seller', async () => {
      const bea = user()
      await bea.json('register')
      const url = 'http://127.0.0.1:9/work' // would be unreachable
      const shown = await bea.hub(['--json', 'call', url, '--dry-run', '--pay', 'x402'])
      expect(shown.exit).to.equal(2)
      expect(JSON.parse(shown.err).error.hint).to.equal('Omit --pay.')
    })

    it('twice for credits whose purchase got no response: the failure names its id', async () => {
      const server = createServer((request, response) =>
        request.url === '/health' ? response.end('{"sandbox":false}') : request.socket.destroy(),
      )
      const port = await listenOnLoopback(server)
      const keys = {
        HUB_API_KEY: `ahk_${'0'.repeat(49)}`,
        HUB_PRIVATE_KEY: generatePrivateKey(),
        HUB_BASE_URL: `http://127.0.0.1:${port}`,
      }
      const { exit, err } = await user(keys).hub(['--json', '--yes', '--wait', '0', 'topup', '5'])
      server.close()
      expect(exit).to.equal(6)
      const { details, hint } = JSON.parse(err).error
      expect(hint).to.include(`--purchase-id ${details.purchase_id}`)
    })

    it('with HUB_API_KEY at a hub that a project file names', async () => {
      const bea = user({ HUB_API_KEY: `ahk_${'0'.repeat(49)}` })
      delete bea.env['HUB_BASE_URL']
      writeFileSync(join(bea.home, '.agenthubrc.json'), JSON.stringify({ hub: hub().url }))
      const { exit, err } = await bea.hub(['balance'])
      expect([exit, err]).to.satisfy(
        ([code, text]: [number, string]) => code === 4 && /is not sent there/.test(text),
      )
      expect((await bea.hub(['--hub', hub().url, 'balance'])).err).to.not.match(/not sent/)
    })

    it('in a sandbox with a wallet of real money', async () => {
      const key = `0x${'1'.padStart(64, '0')}`
      const bea = user({ HUB_PRIVATE_KEY: key })
      const { wallet_address: address } = await bea.json('register')
      expect(address).to.not.equal('0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf')
    })
  })

  describe('fails clearly', () => {
    it('with an exit code per kind of failure', async () => {
      const cid = user()
      const exits = async (...args: readonly string[]): Promise<number> =>
        (await cid.hub(args)).exit
      expect(await exits('balance'), 'no key').to.equal(4)
      expect(await exits('topup', 'much'), 'no amount').to.equal(2)
      expect(await exits('topup', '4.99'), 'too little').to.equal(2)
      expect(await exits('--wait', 'long', 'balance'), 'no number').to.equal(2)
      expect(await exits('serve'), 'no command').to.equal(2)
      expect(await exits('call'), 'no argument').to.equal(2)
      expect(await exits('keys'), 'half a command').to.equal(2)
      expect(await exits('--hub', 'http://127.0.0.1:9', 'search'), 'no hub').to.equal(4)
      expect(await exits('--hub', 'http://127.0.0.1:9', 'show', 'x'), 'no hub').to.equal(6)
      expect(await exits('--hub', 'ftp://hub.example', 'balance'), 'no address').to.equal(2)
      cid.env['HUB_API_KEY'] = `ahk_${'0'.repeat(49)}`
      expect(await exits('balance'), 'a wrong key').to.equal(4)
    })

    it('before it sends malformed JSON', async () => {
      const cid = await customer()
      const { exit, err } = await cid.hub(['call', 'echo/say', '-d', '{words:hello}'])
      expect(exit).to.equal(2)
      expect(err).to.include('looks like JSON but is invalid')
    })

    it('as one JSON object on stderr with --json, and nothing on stdout', async () => {
      const { out, err } = await user().hub(['--json', 'show', 'nothing-there'])
      expect(out).to.equal('')
      expect(JSON.parse(err).error).to.include({ code: 'service_not_found' })
      for (const wrong of [['typo'], ['call'], ['keys']]) {
        const used = await user().hub(['--json', ...wrong])
        expect(used.out + JSON.parse(used.err).error.code, wrong[0]).to.equal('usage')
      }
    })

    it('with --format json as with --json, and with no other format', async () => {
      for (const format of [['--format', 'json'], ['--format=json']]) {
        const { exit, out } = await user().hub(['show', 'echo', ...format])
        expect([exit, typeof JSON.parse(out)], format.join(' ')).to.deep.equal([0, 'object'])
        const failed = await user().hub([...format, 'typo'])
        expect(JSON.parse(failed.err).error).to.include({ code: 'usage' })
      }
      expect((await user().hub(['show', 'echo', '--format', 'pretty'])).out).not.to.match(/^[{[]/)
      expect((await user().hub(['show', 'echo', '--format', 'yaml'])).exit).to.equal(2)
    })

    it('with the slug that a mistyped one resembles', async () => {
      const cid = await customer()
      for (const args of [
        ['show', 'anlysis'],
        ['call', 'anlysis/sentiment', '-d', '{"text":"a"}'],
      ]) {
        const { err } = await cid.hub(['--json', ...args])
        expect(JSON.parse(err).error.hint, args[0]).to.equal('Did you mean analysis?')
      }
    })

    it('with the reason of a refusal, instead of a hint that names it', () => {
      const body = { code: 'refused', detail: 'Send words.', reason: 'no_words' }
      const refused = new HubError({
        status: 422,
        headers: {},
        bytes: Buffer.alloc(0),
        source: undefined,
        body: { ...body, advice: 'See reason and detail.', charged_microdollars: 'none' },
        charged: 500n,
        callId: undefined,
      })
      const failure = toFailure(refused)
      expect(failure).to.include({ message: 'Send words. (no_words)', hint: undefined })
      expect(failure?.details, 'as the hub says, not the service').to.include({
        charged_microdollars: 500,
      })
    })

    it('with a hint at the clock for an offer that has expired by it', () => {
      const failure = toFailure(new PaymentTermsError('timeout'))
      expect(failure).to.include({ kind: 'error', code: 'upstream_payment_terms' })
      expect(failure?.hint).to.include('hub doctor')
      expect(toFailure(new PaymentTermsError('above_max'))).to.include({ kind: 'declined' })
    })

    it('in hub doctor if the clock differs from that of the hub', async () => {
      let late = 0
      const server = createServer((_, response) => {
        response.setHeader('Date', new Date(Date.now() + late).toUTCString())
        response.setHeader('Content-Type', 'application/json').end('{"sandbox":true}')
      })
      const port = await listenOnLoopback(server)
      const cid = user({ HUB_BASE_URL: `http://127.0.0.1:${port}` })
      const clock = async () => (await cid.hub(['doctor'])).out.match(/. clock.*/)?.[0]
      expect(await clock()).to.equal('✓ clock  agrees with the hub')
      late = 600_000
      expect(await clock()).to.match(/^✗ clock {2}\d+ s behind the hub: set it,/)
      late = -600_000
      expect(await clock()).to.match(/^✗ clock {2}\d+ s ahead of the hub: set it,/)
      server.close()
    })

    it('without showing a key in any message', async () => {
      const cid = await customer()
      const { api_key: key } = Object.values(
        JSON.parse(readFileSync(configOf(cid, 'credentials.json'), 'utf8')).hubs,
      )[0] as { api_key: string }
      for (const args of [
        ['balance'],
        ['doctor'],
        ['call', 'echo/say', '-d', '{}'],
        ['keys', 'list'],
      ]) {
        const { out, err } = await cid.hub(args)
        expect(out + err).to.not.include(key)
      }
      expect((await cid.hub(['auth-header'])).out).to.equal(`{"Authorization":"Bearer ${key}"}\n`)
    })

    it('without third-party escape sequences or unwanted colors', async () => {
      const cid = await customer()
      const { out, err } = await cid.hub(['--hub', hub().url, 'show', 'echo'])
      expect(out + err).to.not.include('\u001B')
    })
  })
})
