import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect } from 'chai'
import { build } from 'esbuild'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { usd } from '../../core/money.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { useHub } from '../support/suite.ts'
import { installed, withClient } from './installed.ts'
import { runCommand, runModule, runOwn } from './run-client.ts'

const TOOLS = 9
/** Time that a client gives the hub to respond: long, because the machine may be busy. */
const CONNECT_MS = 300_000
/** Attempts of a client that limits its own start, which may take longer on a busy machine. */
const CONNECT_ATTEMPTS_MAX = 8
const PRICE = usd('0.0001')
const SAY = { service: 'echo', endpoint: 'POST /say', input: { words: 'hello' } }

/** Programs as the documentation of their client shows them. They print what they bought. */
const PAYING: Readonly<Record<string, readonly [name: string, code: string]>> = {
  '@x402/axios': [
    '@x402/axios',
    `import axios from 'axios'
     import { wrapAxiosWithPaymentFromConfig } from '@x402/axios'
     import { ExactEvmScheme } from '@x402/evm'
     import { privateKeyToAccount } from 'viem/accounts'
     const client = new ExactEvmScheme(privateKeyToAccount(process.env.SECRET))
     const api = wrapAxiosWithPaymentFromConfig(axios.create(), {
       schemes: [{ network: 'eip155:8453', client }],
     })
     const { data, headers } = await api.post(process.env.URL, { words: 'hello' })
     console.log(JSON.stringify(data), headers['payment-response'])`,
  ],
  'x402-fetch 1.x': [
    'x402-fetch',
    `import { privateKeyToAccount } from 'viem/accounts'
     import { wrapFetchWithPayment } from 'x402-fetch'
     const pay = wrapFetchWithPayment(fetch, privateKeyToAccount(process.env.SECRET))
     const headers = { 'content-type': 'application/json' }
     const body = '{"words":"hello"}'
     const response = await pay(process.env.URL, { method: 'POST', headers, body })
     console.log(await response.text(), response.headers.get('x-payment-response'))`,
  ],
  faremeter: [
    '@faremeter/fetch',
    `import { wrap } from '@faremeter/fetch'
     import { exact } from '@faremeter/payment-evm'
     import { createLocalWallet } from '@faremeter/wallet-evm'
     const wallet = await createLocalWallet({ id: 8453, name: 'Base' }, process.env.SECRET)
     const pay = wrap(fetch, { handlers: [exact.createPaymentHandler(wallet)] })
     const headers = { 'content-type': 'application/json' }
     const body = '{"words":"hello"}'
     const response = await pay(process.env.URL, { method: 'POST', headers, body })
     console.log(await response.text(), response.headers.get('payment-response'))`,
  ],
}

/** Programs that list the tools and make a paid call. They print the number and the result. */
const CALLING: Readonly<Record<string, readonly [name: string, code: string]>> = {
  'the AI SDK': [
    '@ai-sdk/mcp',
    `import { createMCPClient } from '@ai-sdk/mcp'
     const headers = { Authorization: 'Bearer ' + process.env.KEY }
     const client = await createMCPClient({
       transport: { type: 'http', url: process.env.URL, headers },
     })
     const tools = await client.tools()
     const options = { toolCallId: '1', messages: [] }
     const result = await tools.hub_call.execute(JSON.parse(process.env.SAY), options)
     console.log(Object.keys(tools).length, JSON.stringify(result.structuredContent))
     await client.close()`,
  ],
  'the MCP adapter of LangChain': [
    '@langchain/mcp-adapters',
    `import { MultiServerMCPClient } from '@langchain/mcp-adapters'
     const headers = { Authorization: 'Bearer ' + process.env.KEY }
     const hub = { transport: 'http', url: process.env.URL, headers }
     const client = new MultiServerMCPClient({ mcpServers: { hub } })
     const tools = await client.getTools()
     const call = tools.find(({ name }) => name === 'hub_call')
     const result = await call.invoke(JSON.parse(process.env.SAY))
     console.log(tools.length, result.text ?? JSON.stringify(result))
     await client.close()`,
  ],
}

// Nothing runs and no hub is started where no client is installed.
const describeClients = installed === undefined ? describe.skip : describe

describeClients('programs of others', function () {
  this.timeout(1_200_000)
  const hub = useHub()
  const home = mkdtempSync(join(tmpdir(), 'agenthub-clients-'))
  after(() => rmSync(home, { recursive: true, force: true }))

  describe('that pay by x402', () => {
    const url = () => `${hub().url}/proxy/echo/say`
    /** Creates a wallet with a dollar. */
    async function wallet() {
      const secret = generatePrivateKey()
      const { address } = privateKeyToAccount(secret)
      await fund(hub().sandbox!.rpcUrl, address, { usdc: usd('1') })
      return { secret, balance: () => hub().hub.paymentDeps.chain.balanceOf(address) }
    }

    for (const [client, [name, code]] of Object.entries(PAYING)) {
      withClient(name, `${client} pays the price and gets response and receipt`, async () => {
        const { secret, balance } = await wallet()
        const out = await runModule(code, { SECRET: secret, URL: url() })
        expect(out).to.match(/^\{"words":"hello"\} ey[\w=]{50,}\n$/)
        expect(await balance()).to.equal(usd('1') - PRICE)
      })
    }

    it('mppx, the command, pays the price and gets response and receipt', async () => {
      const { secret, balance } = await wallet()
      const env = { HOME: home, MPPX_PRIVATE_KEY: secret, MPPX_RPC_URL: hub().sandbox!.rpcUrl }
      const args = [url(), '-J', '{"words":"hello"}', '--include', '--protocol', 'x402']
      const out = await runOwn('mppx', args, { env })
      expect(out)
        .to.match(/^payment-response: ey/m)
        .and.match(/\{"words":"hello"\}$/)
      expect(await balance()).to.equal(usd('1') - PRICE)
    })
  })

  describe('that speak MCP', () => {
    const url = () => `${hub().url}/mcp`
    let key: string
    let bearer: string
    let keyId: string
    beforeEach(async () => {
      const agent = await hub().agent()
      key = agent.apiKey
      bearer = `Authorization: Bearer ${key}`
      keyId = agent.keyId
      await hub().credit(keyId, usd('1'))
    })
    const expectOneCall = async () => {
      expect(await hub().balance(keyId)).to.equal(usd('1') - PRICE)
    }

    for (const [client, [name, code]] of Object.entries(CALLING)) {
      withClient(name, `${client} lists the tools and makes a paid call`, async () => {
        const env = { KEY: key, URL: url(), SAY: JSON.stringify(SAY) }
        const out = await runModule(code, env)
        expect(out)
          .to.match(new RegExp(`^${TOOLS} `))
          .and.include('"body":{"words":"hello"}')
        await expectOneCall()
      })
    }

    withClient('@apify/mcpc', 'mcpc lists the tools and makes a paid call', async () => {
      // Compiled code shortens later starts: it gives its own second process five seconds.
      const env = { HOME: home, NODE_COMPILE_CACHE: join(home, 'code') }
      const mcpc = (...args: string[]) => runCommand('mcpc', [...args, '--json'], { env })
      const connect = () => mcpc('connect', url(), '@hub', '--header', bearer)
      for (let attempt = 1; ; attempt++) {
        const error = await connect().then(
          () => undefined,
          (reason: unknown) => reason,
        )
        if (error === undefined) break
        if (attempt === CONNECT_ATTEMPTS_MAX) throw error
      }
      try {
        expect(JSON.parse(await mcpc('@hub', 'tools-list'))).to.have.length(TOOLS)
        const args = Object.entries(SAY).map(
          ([name, value]) =>
            `${name}:=${typeof value === 'string' ? value : JSON.stringify(value)}`,
        )
        const result = JSON.parse(await mcpc('@hub', 'tools-call', 'hub_call', ...args))
        expect(result.structuredContent.body).to.deep.equal({ words: 'hello' })
      } finally {
        await mcpc('close', '@hub')
      }
      await expectOneCall()
    })

    withClient('mcp-remote', 'mcp-remote passes tools and calls on over stdio', async () => {
      const program = join(installed!, 'node_modules/.bin/mcp-remote')
      const args = [program, url(), '--allow-http', '--header', bearer]
      const env = { HOME: home, PATH: process.env['PATH']! }
      const transport = new StdioClientTransport({
        command: process.execPath,
        args,
        env,
        stderr: 'ignore',
      })
      const client = new Client({ name: 'test', version: '1' })
      const options = { timeout: CONNECT_MS }
      await client.connect(transport, options)
      try {
        const { tools } = await client.listTools({}, options)
        expect(tools).to.have.length(TOOLS)
        await client.callTool({ name: 'hub_call', arguments: SAY }, undefined, options)
      } finally {
        await client.close()
      }
      await expectOneCall()
    })

    withClient(
      '@modelcontextprotocol/inspector',
      'the Inspector finds no error in the tools, and makes a paid call in each era',
      async () => {
        const server = ['--server-url', url(), '--transport', 'http', '--header', bearer]
        const at = ['--cli', ...server, '--connect-timeout', String(CONNECT_MS)]
        const call = ['--method', 'tools/call', '--tool-name', 'hub_call']
        const args = Object.entries(SAY).flatMap(([name, value]) => [
          '--tool-arg',
          `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
        ])
        const inspect = async (...more: string[]) =>
          JSON.parse(
            await runCommand('mcp-inspector', [...at, ...more, '--format', 'json'], {
              env: { HOME: home },
            }),
          ).result
        // With --strict, it exits with 6 for an error in a schema.
        const { tools } = await inspect('--method', 'tools/list', '--strict')
        expect(tools).to.have.length(TOOLS)
        for (const era of ['legacy', 'modern', 'auto']) {
          const result = await inspect('--protocol-era', era, ...call, ...args)
          expect(result.structuredContent.body, era).to.deep.equal({ words: 'hello' })
        }
        expect(await hub().balance(keyId)).to.equal(usd('1') - 3n * PRICE)
      },
    )
  })

  describe('that read OpenAPI', () => {
    const document = join(home, 'openapi.json')
    before(async () => {
      writeFileSync(document, await (await fetch(`${hub().url}/openapi.json`)).text())
    })

    withClient('openapi-typescript', 'openapi-typescript writes types that compile', async () => {
      const types = join(home, 'api.ts')
      await runCommand('openapi-typescript', [document, '--output', types])
      expect(readFileSync(types, 'utf8')).to.include('"/proxy/echo/say"')
      await runCommand('tsc', ['--noEmit', '--strict', '--skipLibCheck', types])
    })

    withClient('@hey-api/openapi-ts', 'hey-api writes a client that makes a call', async () => {
      const folder = join(home, 'client')
      await runCommand('openapi-ts', ['-i', document, '-o', folder, '--no-log-file'])
      const { apiKey, keyId } = await hub().agent()
      await hub().credit(keyId, usd('1'))
      const contents = `
        import { postEchoSay } from './index'
        const { URL: baseUrl, KEY: auth } = process.env
        const { data } = await postEchoSay({ baseUrl, auth, body: { words: 'hello' } })
        console.log(JSON.stringify(data))`
      const stdin = { contents, resolveDir: folder }
      const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'esm' })
      const out = await runModule(outputFiles[0]!.text, { URL: hub().url, KEY: apiKey })
      expect(out).to.equal('{"words":"hello"}\n')
      expect(await hub().balance(keyId)).to.equal(usd('1') - PRICE)
    })

    it('@agentcash/discovery, the command, finds no error in a paid endpoint', async () => {
      const out = await runOwn('discovery', ['check', `${hub().url}/proxy/echo/say`], {})
      expect(out).to.include('0.000100 USD')
      expect(out).to.not.match(/\] [A-Z]/)
    })
  })
})
